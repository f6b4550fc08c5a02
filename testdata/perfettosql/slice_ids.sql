-- The names that slices of newer versions have as well.
SELECT slice_id = id AS same_id, cat = category AS same_category FROM slice GROUP BY 1, 2;
