import { createLogger } from './logger';
import { NestLogger } from './nest-logger';

const lines: string[] = [];
const write = (line: string): void => void lines.push(line);
const logger = new NestLogger(createLogger('info', false, { write }));
const all = new NestLogger(createLogger('trace', false, { write }));

function logged(message: unknown, ...rest: unknown[]): Record<string, unknown> {
  lines.length = 0;
  logger.log(message, ...rest);
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]) as Record<string, unknown>;
}

const circular: Record<string, unknown> = { a: 1 };
circular.self = circular;
const throwing = {
  get field(): never {
    throw new Error('no');
  },
};

describe('NestLogger', () => {
  it.each([
    ['undefined', undefined],
    ['a circle', circular],
    ['a getter that throws', throwing],
    ['a function that throws', () => throwing.field],
    ['no prototype', Object.create(null)],
    ['a symbol', Symbol('s')],
    ['an error without a message', Object.assign(new Error('x'), { message: undefined })],
  ])('logs %s, and does not throw', (_, message) => {
    expect(logged(message)).toMatchObject({ level: 'info' });
  });

  it('takes the last text as the context, as ConsoleLogger does', () => {
    expect(logged('a', 'b', 'Context')).toMatchObject({ msg: 'a b', context: 'Context' });
    expect(logged(class Some {})).toMatchObject({ msg: 'Some' });
    expect(logged(() => 'called')).toMatchObject({ msg: 'called' });
  });

  it('logs levels, data, errors with their causes, and stacks', () => {
    lines.length = 0;
    all.log('text', { extra: 2n });
    all.error('text', new Error('broken', { cause: new Error('deeper') }));
    all.error(new Error('alone'));
    all.error('with a stack', new Error('x').stack);
    for (const level of ['warn', 'debug', 'verbose', 'fatal'] as const) all[level](level);
    const stack: unknown = expect.stringContaining('at ');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'info', msg: 'text', data: { extra: '2' } },
      { level: 'error', msg: 'text', err: { message: 'broken', stack, cause: { message: 'deeper' } } },
      { level: 'error', msg: 'alone', err: { stack } },
      { level: 'error', msg: 'with a stack', stack },
      ...['warn', 'debug', 'trace', 'fatal'].map((level) => ({ level })),
    ]);
  });

  it('removes secrets, by field name and by form', () => {
    const data = { accessToken: 'x', 'X-Api-Key': 'x', Cookie: ['x'], deep: [{ nonce: 'x' }], tickets: 3 };
    expect(logged(data).data).toEqual({
      accessToken: '[redacted]',
      'X-Api-Key': '[redacted]',
      Cookie: '[redacted]',
      deep: [{ nonce: '[redacted]' }],
      tickets: 3,
    });
    expect(logged(new Error('of Bearer abc.def')).err).toMatchObject({ message: 'of Bearer [redacted]' });
    expect(logged('eyJhbGciOi.eyJ1c2VySWQi.c2ln').msg).toBe('[redacted]');
  });

  it('writes nothing below its level', () => {
    lines.length = 0;
    logger.debug('x');
    logger.verbose({ a: 1 });
    expect(lines).toEqual([]);
  });
});
