import { IsInt, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';

export class EventsSettings {
  /** Event streams that a user may have open at the same time in each process. */
  @Integer() @IsInt() @Min(1) @Max(1000) EVENT_STREAMS_PER_USER = 5;
}
