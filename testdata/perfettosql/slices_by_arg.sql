-- Slices with a given argument.
SELECT slice.name, slice.ts, args.int_value FROM slice JOIN args USING (arg_set_id) WHERE args.key = 'layers' ORDER BY ts;
