import { ArgumentMetadata, Injectable, ValidationError, ValidationPipe } from '@nestjs/common';
import { ErrorDetail, MAX_DETAILS, validationFailed } from './errors';

/**
 * Context of a rule on array elements: tells which elements break it, so that the error can name them.
 * @example `@Matches(ADDRESS, { each: true, context: { element: isAddress } })`
 */
export interface ElementContext {
  element: (value: unknown) => boolean;
}

/** Validated queries that are remembered, of each kind. */
const MAX_REMEMBERED = 1000;
/** Longer ones are rare and would cost memory. */
const MAX_QUERY = 200;

/** Levels of lists and objects in a field. No request needs as many, and what transforms them is recursive. */
const MAX_DEPTH = 16;

/**
 * Validates and transforms DTOs; every violation becomes a detail with the field's path. Valid queries, which are few
 * and come again and again, are remembered: class-transformer and class-validator cost more than a request's routing.
 */
@Injectable()
export class DtoPipe extends ValidationPipe {
  private readonly remembered = new Map<unknown, Map<string, unknown>>();

  constructor() {
    super({
      transform: true,
      transformOptions: { exposeUnsetFields: false },
      forbidUnknownValues: false,
      validationError: { target: false },
      exceptionFactory: (errors) => validationFailed(...errors.flatMap((error) => describe(error))),
    });
  }

  // Not async: most parameters are not DTOs, and pass at once.
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (!this.toValidate(metadata)) return value as Promise<unknown>;
    if (!isRecord(value)) throw validationFailed({ field: metadata.type, message: 'must be a JSON object' });
    return metadata.type === 'query' ? this.query(value, metadata) : this.check(value, metadata);
  }

  private query(value: Record<string, unknown>, metadata: ArgumentMetadata): Promise<unknown> {
    let known = this.remembered.get(metadata.metatype);
    if (!known) this.remembered.set(metadata.metatype, (known = new Map<string, unknown>()));
    const key = JSON.stringify(value);
    const before = known.get(key);
    if (before) return before as Promise<unknown>;
    return this.check(value, metadata).then((query) => {
      if (known.size >= MAX_REMEMBERED) known.clear();
      if (key.length <= MAX_QUERY) known.set(key, Object.freeze(query));
      return query;
    });
  }

  private check(value: Record<string, unknown>, metadata: ArgumentMetadata): Promise<unknown> {
    // null counts as absent, so that defaults apply.
    const given = Object.entries(value).filter(([, field]) => field !== null);
    const deep = given.filter(([, field]) => isDeeper(field, MAX_DEPTH)).slice(0, MAX_DETAILS);
    if (deep.length > 0)
      throw validationFailed(...deep.map(([field]) => ({ field, message: 'is nested too deeply' })));
    return super.transform(Object.fromEntries(given), metadata) as Promise<unknown>;
  }
}

function describe(error: ValidationError): ErrorDetail[] {
  const messages = Object.values(error.constraints ?? {});
  const context = Object.values(error.contexts ?? {})[0] as ElementContext | undefined;
  if (context && Array.isArray(error.value)) {
    const message = messages[0]?.replace('each value in ', '') ?? 'is invalid';
    const details: ErrorDetail[] = [];
    for (let index = 0; index < error.value.length && details.length < MAX_DETAILS; index++)
      if (!context.element(error.value[index]))
        details.push({ field: `${error.property}[${index}]`, message });
    return details;
  }
  return messages.map((message) => ({ field: error.property, message }));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
