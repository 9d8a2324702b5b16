-- The rows :lo to :hi - 1 of the run :no. Outcomes lie in the table as those of eight segments that
-- are sent side by side do; :end is the row after the last of these segments. 60 % of the rows are
-- read, 32 % delivered, 2 % failed, 3 % sent, 1 % is refused and 2 % are skipped. The numbers are
-- of ten countries, in no order. One number is in four runs of five.
INSERT INTO delivery (rid, key, row, dest, cells)
  SELECT (:no::bigint << 32) | g, k, g + 1, '+' || k, '["Ada' || g % 1000 || '","Lagos"]'
  FROM generate_series(:lo::bigint, :hi::bigint - 1) g, LATERAL (SELECT CASE WHEN g = 777 AND :no % 5 > 0 THEN 14155550100 ELSE
    ('{23480,23481,25472,23324,44790,1416,91987,55119,62812,2010}'::bigint[])[1 + g % 10] * 1000000000
    + (g + 1) * 387420489 % 1000000007 % 1000000000 END AS k OFFSET 0) x;
INSERT INTO outcome (rid, mh, result_at, attempt, state, rank, message_id, sent_at, delivered_at, read_at, failed_at, fail_code, code)
  SELECT (:no::bigint << 32) | g, CASE WHEN p < 97 THEN hashint8extended(g, :no) END, at, CASE WHEN p < 98 THEN 1 ELSE 0 END,
    CASE WHEN p < 97 THEN 5 /* accepted */ WHEN p < 98 THEN 6 /* refused */ ELSE 7 /* skipped */ END,
    CASE WHEN p < 60 THEN 4 /* read */ WHEN p < 92 THEN 3 /* delivered */ WHEN p < 94 THEN 2 /* failed */
      WHEN p < 97 THEN 1 /* sent */ ELSE 0 /* none */ END,
    CASE WHEN p < 97 THEN 'wamid.HBgNMjM0ODAzMDAwMDAwMBUCABEYEjlBM0NBNUIzRDRDRDY3' || lpad(:no::text, 3, '0') || lpad(g::text, 9, '0') END,
    CASE WHEN p < 92 OR p >= 94 AND p < 97 THEN at + 300 END, CASE WHEN p < 92 THEN at + wait END,
    CASE WHEN p < 60 THEN at + wait + 1000 + ((h >> 32) & 8191) * ((h >> 32) & 8191) / 10 END,
    CASE WHEN p IN (92, 93) THEN at + wait END,
    CASE WHEN p = 92 THEN '131049' WHEN p = 93 THEN '131026' END,
    CASE WHEN p = 97 THEN 'send_recipient_permanent' WHEN p > 97 THEN 'suppressed' END
  FROM (SELECT i, (i & ~32767) | ((i & 7) << 12) | ((i >> 3) & 4095) AS g FROM generate_series(:lo::bigint, :end::bigint - 1) i) s,
    LATERAL (SELECT hashint8extended(g, 2) AS h OFFSET 0) y,
    LATERAL (SELECT g % 100 AS p, 1767225600000 + i * 2 AS at, 400 + (600 * exp((h & 65535) / 16384.0))::bigint AS wait OFFSET 0) z
  WHERE g < :hi
