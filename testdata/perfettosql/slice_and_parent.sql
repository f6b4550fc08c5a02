-- Each slice beside the one around it.
SELECT child.name, parent.name AS parent_name, child.ts - parent.ts AS offset
FROM slice AS child JOIN slice AS parent ON child.parent_id = parent.id ORDER BY child.ts;
