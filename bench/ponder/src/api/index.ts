import { Hono } from 'hono';

/** ponder asks for it, and adds `/ready` itself. */
export default new Hono();
