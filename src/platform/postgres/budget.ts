/**
 * Five seconds: the API answers within them, whatever the database does. In s from the request for a statement:
 *
 *     0 ---- 0.8 ---- 1.0 ---- 1.5 ---- 3.6 ---- 3.9 ---- 4.0 ---- 4.5 ---- 5
 *            lock     standby  connect  wait     deadline running  answer   the client's answer
 *
 * Each is above those before it, so that there is time for what follows.
 */
export const LIMITS = {
  /** For a read among others, after which it runs apart. See `SlowReads`. */
  amongOthersMs: 50,
  /** For an answer to a poll that has a connection of its own, after which the connection is closed. */
  pollMs: 500,
  /** A statement that was sent at once waits no longer for a row, so that there is time to try again. */
  lockMs: 800,
  /** A read that has no answer of a standby goes to the primary, which still takes it. */
  standbyMs: 1000,
  /** For a new connection, and as long again for the first answer on it, its server's clock. */
  sendMs: 1500,
  /** A statement waits so long for a connection. What was certainly not done is sent again until then. */
  resendMs: 3600,
  /** A write has ended on the server. */
  deadlineMs: 3900,
  /** What a process has left is cancelled by then, if it was sent within `sendMs`. */
  runningMs: 4000,
  /** The connection is closed, and the statement fails. Until then the server can say what happened. */
  answerMs: 4500,
};

export type TimeLimits = Readonly<typeof LIMITS>;

/** Time for an operator's command to connect. It can wait longer than a request. */
export const COMMAND_CONNECT_MS = 10_000;
