package postgres

const (
	// The follow-up runs come after their parent: their recipients keep it from a second one.
	sqlRetirable = `SELECT s.id, s.lo, s.hi, s.mark, s.intents_since FROM run r JOIN run_event e ON e.no = r.no JOIN run_count n ON n.no = r.no
		CROSS JOIN LATERAL (SELECT id, lo, hi, mark, intents_since FROM segment x WHERE x.id >= r.no << 32 AND x.id < (r.no + 1) << 32 AND x.done
			AND NOT EXISTS (SELECT 1 FROM retired t WHERE t.segment = x.id) ORDER BY x.id LIMIT 1) s
		WHERE r.retired_rows < n.rows AND r.ended_at > 0 AND r.ended_at < $1 AND e.event_at < $1
			AND NOT EXISTS (SELECT 1 FROM run p JOIN run_count pn ON pn.no = p.no WHERE p.no = r.parent AND p.retired_rows < pn.rows)
			AND NOT EXISTS (SELECT 1 FROM run c WHERE c.parent = r.no AND c.ended_at = 0)
		ORDER BY r.no LIMIT 1`
	// The totals are those of the rows as they are deleted: a status may have been applied a moment
	// before.
	sqlRetireTotals = `WITH d AS (DELETE FROM outcome WHERE rid >= $1 AND rid < $2
			RETURNING state, rank, coalesce(CASE WHEN state >= 6 /* refused */ THEN code WHEN rank = 2 /* failed */ THEN fail_code END, '') AS code,
				sent_at, failed_at, flags)
		INSERT INTO retired_total (segment, state, rank, code, n, sent, failed, adopted, duplicate, ambiguous)
		SELECT $3::bigint, state, rank, code, count(*), count(sent_at), count(failed_at), count(*) FILTER (WHERE flags & 1 /* adopted */ <> 0),
			count(*) FILTER (WHERE flags & 2 /* may be a duplicate */ <> 0), count(*) FILTER (WHERE flags & 8 /* ambiguous */ <> 0)
		FROM d GROUP BY state, rank, code`
	// In the order of the keys, as FoldSenders: transactions that lock rows in one order do not
	// deadlock.
	sqlRetireSenders = `DELETE FROM sender WHERE (key, connection) IN (SELECT s.key, s.connection
		FROM sender s JOIN delivery d ON d.key = s.key WHERE d.rid >= $1 AND d.rid < $2 AND s.at < $3 ORDER BY 1, 2 FOR UPDATE OF s)`
)
