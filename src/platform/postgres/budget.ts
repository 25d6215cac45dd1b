/**
 * Five seconds: the API answers within them, whatever the database does. In s from the request for a statement:
 *
 *     0 ---- 0.8 ---- 1.0 ---- 1.5 ---- 3.6 ---- 3.9 ---- 4.0 ---- 4.5 ---- 5
 *            lock     standby  sent     again    deadline running  answer   the client's answer
 *
 * - lock: a statement that was sent at once waits no longer for a row, so that there is time to try again
 * - standby: a read that has no answer of a standby goes to the primary, which still takes it
 * - sent: it is sent by then or never, if all connections are busy; one that waited for its turn with others before has as
 *   much time from there. A new connection, and the clock of its server, have as much time, too
 * - again: what was certainly not done is sent again until then, and waits so long if the server answers nobody
 * - deadline: a write has ended on the server
 * - running: a read, sent at the latest moment, has ended on the server
 * - answer: the connection is closed, and the statement fails. Until then the server can say what happened
 */
export interface TimeLimits {
  sendMs: number;
  resendMs: number;
  deadlineMs: number;
  answerMs: number;
}

export const LIMITS: TimeLimits = { sendMs: 1500, resendMs: 3600, deadlineMs: 3900, answerMs: 4500 };

/** `lock_timeout` of named statements. */
export const LOCK_MS = 800;
/** For a read among others, after which it runs apart. See `SlowReads`. */
export const AMONG_OTHERS_MS = 50;
/** For an answer of a standby. */
export const STANDBY_MS = 1000;
/** For a connection, and for reading the clock on it, after which it is closed. */
export const CONNECT_MS = LIMITS.sendMs;
/** When a named statement that was sent at the latest moment is cancelled. */
export const RUNNING_MS = 4000;
/**
 * An answer that takes longer may give an estimate of the server's clock so far behind that a statement that is sent
 * again at the latest moment has no time.
 */
export const CLOCK_LATE_MS = LIMITS.deadlineMs - LIMITS.resendMs;
