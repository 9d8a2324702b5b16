package sqlite

const (
	// The follow-up runs come after their parent: their recipients keep it from a second one.
	sqlRetirable = `SELECT s.id, s.lo, s.hi, s.mark, s.intents_since FROM run r JOIN run_count n ON n.no = r.no
		JOIN segment s ON s.id = (SELECT x.id FROM segment x WHERE x.id >= r.no << 32 AND x.id < (r.no + 1) << 32 AND x.done
			AND NOT EXISTS (SELECT 1 FROM retired t WHERE t.segment = x.id) ORDER BY x.id LIMIT 1)
		WHERE r.retired_rows < n.rows AND r.ended_at > 0 AND r.ended_at < $1 AND n.event_at < $1
			AND NOT EXISTS (SELECT 1 FROM run p JOIN run_count pn ON pn.no = p.no WHERE p.no = r.parent AND p.retired_rows < pn.rows)
			AND NOT EXISTS (SELECT 1 FROM run c WHERE c.parent = r.no AND c.ended_at = 0)
		ORDER BY r.no LIMIT 1`
	sqlRetireTotals = `INSERT INTO retired_total (segment, state, rank, code, n, sent, failed, adopted, duplicate, ambiguous)
		SELECT $3, state, rank, CASE WHEN state >= 6 /* refused */ THEN code WHEN rank = 2 /* failed */ THEN fail_code ELSE '' END, count(*),
			sum(sent_at > 0), sum(failed_at > 0), sum(flags & 1 /* adopted */),
			sum(flags & 2 /* may be a duplicate */) / 2, sum(flags & 8 /* ambiguous */) / 8
		FROM outcome WHERE rid >= $1 AND rid < $2 GROUP BY 2, 3, 4`
	sqlRetireSenders = `DELETE FROM sender WHERE at < $3 AND key IN (SELECT key FROM delivery WHERE rid >= $1 AND rid < $2)`
)
