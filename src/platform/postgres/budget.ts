/**
 * Five seconds: the API answers within them, whatever the database does. In s from the request for a statement:
 *
 *     0 ---- 0.8 ---- 1.0 ---- 1.5 ---- 3.6 ---- 3.9 ---- 4.0 ---- 4.5 ---- 5
 *            lock     standby  sent     again    deadline running  answer   the client's answer
 *
 * Each is above those before it, so that there is time for what follows.
 */
export interface TimeLimits {
  /** For a read among others, after which it runs apart. See `SlowReads`. */
  readonly amongOthersMs: number;
  /** For an answer to a poll that has a connection of its own, after which the connection is closed. */
  readonly pollMs: number;
  /** A statement that was sent at once waits no longer for a row, so that there is time to try again. */
  readonly lockMs: number;
  /** A read that has no answer of a standby goes to the primary, which still takes it. */
  readonly standbyMs: number;
  /**
   * A statement is sent by then or never, if all connections are busy; one that waited for its turn with others before
   * has as much time from there. A new connection has as much time too, and so has the first answer on it, its clock.
   */
  readonly sendMs: number;
  /** What was certainly not done is sent again until then, and waits so long if the server answers nobody. */
  readonly resendMs: number;
  /** A write has ended on the server. */
  readonly deadlineMs: number;
  /** A named statement that was sent at the latest moment is cancelled. */
  readonly runningMs: number;
  /** The connection is closed, and the statement fails. Until then the server can say what happened. */
  readonly answerMs: number;
}

export const LIMITS: TimeLimits = {
  amongOthersMs: 50,
  pollMs: 500,
  lockMs: 800,
  standbyMs: 1000,
  sendMs: 1500,
  resendMs: 3600,
  deadlineMs: 3900,
  runningMs: 4000,
  answerMs: 4500,
};

/** Time for an operator's command to connect. It can wait longer than a request. */
export const COMMAND_CONNECT_MS = 10_000;
