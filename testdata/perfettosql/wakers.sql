-- Who woke whom.
SELECT ts, woken.name AS woken, waker.name AS waker FROM thread_state JOIN thread AS woken USING (utid)
JOIN thread AS waker ON waker.utid = waker_utid ORDER BY ts;
