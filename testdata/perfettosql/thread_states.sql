-- Time of each thread in each state.
SELECT thread.name, state, SUM(dur) AS total, COUNT(*) AS times FROM thread_state JOIN thread USING (utid) WHERE dur != -1
GROUP BY utid, state ORDER BY utid, state;
