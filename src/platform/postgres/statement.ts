import type { QueryResultRow } from 'pg';

/** A statement that PostgreSQL parses and plans once per connection; the name must be unique in the service. */
export interface Statement {
  readonly name: string;
  /** The text with parameters $1, $2, … */
  readonly text: string;
  /** Place of the parameter that says who causes the calls: who causes slow ones waits for his own. See `SlowReads`. */
  readonly payer?: number;
}

/** A statement with the values of its parameters, in the order of their numbers. */
export interface BoundStatement {
  statement: Statement;
  values: unknown[];
}

/** PostgreSQL types that fit a TypeScript type. */
type TypeOf<Value> =
  NonNullable<Value> extends string
    ? 'text' | 'uuid' | 'numeric' | 'timestamptz' | 'date' | 'jsonb'
    : NonNullable<Value> extends number
      ? 'smallint' | 'integer' | 'bigint' | 'float8'
      : NonNullable<Value> extends boolean
        ? 'boolean'
        : NonNullable<Value> extends Date
          ? 'timestamptz' | 'date'
          : NonNullable<Value> extends readonly (string | null)[]
            ? 'text[]' | 'uuid[]' | 'numeric[]' | 'timestamptz[]'
            : NonNullable<Value> extends readonly (number | null)[]
              ? 'integer[]' | 'bigint[]'
              : NonNullable<Value> extends readonly boolean[]
                ? 'boolean[]'
                : never;

/** A statement with named parameters. `Row` is the type of its rows. */
export interface TypedStatement<Parameters extends object, Row extends QueryResultRow> extends Statement {
  /** Parameter names in the order of their numbers. */
  readonly parameters: readonly (keyof Parameters & string)[];
  /** It costs the primary so much that it is worth a standby. See `StandbyReads`. */
  readonly onStandby?: boolean;
  /** The text as it was written, and the types of its parameters. */
  readonly source: string;
  readonly parameterTypes: Readonly<Record<string, string>>;
  /** Only carries the type; never set. */
  readonly row?: Row;
}

interface Options<Parameters> {
  onStandby?: boolean;
  /** The parameter that says who causes a call. A read without one is charged to what it asks for. */
  chargedTo?: keyof Parameters & string;
}

/**
 * Parts of a statement's text that hold no parameter, or are one: comments, string literals, quoted names, casts, and
 * `:name`. Strings with backslashes, dollar quotes and nested comments are not known: a `:name` in them is a parameter.
 */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|::|:=|(?<![\w\]]):([A-Za-z_]\w*)/g;

/**
 * A statement with named parameters, `:name` in the text. Each has one PostgreSQL type, so the text needs no casts.
 * Write an array slice with a space, `[1 : 2]`, if its end is a name.
 * @throws Error when the module loads, if a name in the text has no type, or a parameter is not in the text
 */
export function statement<Parameters extends object, Row extends QueryResultRow>(
  name: string,
  types: { readonly [Name in keyof Parameters]: TypeOf<Parameters[Name]> },
  text: string,
  { onStandby, chargedTo }: Options<Parameters> = {},
): TypedStatement<Parameters, Row> {
  const known = types as Readonly<Record<string, string>>;
  const parameters: string[] = [];
  const numbered = replaceParameters(text, (parameter) => {
    if (!Object.hasOwn(known, parameter)) throw new Error(`${name}: ":${parameter}" is no parameter`);
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `($${parameters.indexOf(parameter) + 1}::${known[parameter]})`;
  });
  for (const parameter of Object.keys(known))
    if (!parameters.includes(parameter)) throw new Error(`${name}: ":${parameter}" is not in the text`);
  const payer = chargedTo === undefined ? undefined : parameters.indexOf(chargedTo);
  return {
    name,
    text: numbered,
    parameters: parameters as (keyof Parameters & string)[],
    onStandby,
    payer,
    source: text,
    parameterTypes: known,
  };
}

/**
 * The text of a statement as a part of another one, which so reads the same in the same way: with some parameters
 * fixed, and the others under their names.
 */
export const partOf = <Parameters extends object>(
  { source, parameterTypes }: TypedStatement<Parameters, QueryResultRow>,
  fixed: { readonly [Name in keyof Parameters]?: number | null },
): string =>
  replaceParameters(source, (name, token) =>
    Object.hasOwn(fixed, name) ? `(${fixed[name as keyof Parameters]}::${parameterTypes[name]})` : token,
  );

const replaceParameters = (text: string, by: (name: string, token: string) => string): string =>
  text.replace(TOKEN, (token, parameter: string | undefined) =>
    parameter === undefined ? token : by(parameter, token),
  );

/** The values of a statement's parameters, in the order of their numbers. One that is left out is null. */
export const valuesOf = <Parameters extends object>(
  { parameters }: TypedStatement<Parameters, QueryResultRow>,
  values: Parameters,
): unknown[] => parameters.map((name) => values[name] ?? null);
