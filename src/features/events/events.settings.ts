import { IsInt, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';

export class EventsSettings {
  /** Event streams that may be open at the same time in each process: of a user, */
  @Integer() @IsInt() @Min(1) @Max(1000) EVENT_STREAMS_PER_USER = 5;

  /** of a client address (an IPv6 /64), */
  @Integer() @IsInt() @Min(1) @Max(100_000) EVENT_STREAMS_PER_ADDRESS = 100;

  /** and of all. Each takes a file descriptor and some 40 KB. */
  @Integer() @IsInt() @Min(1) @Max(1_000_000) EVENT_STREAMS_PER_PROCESS = 5000;
}
