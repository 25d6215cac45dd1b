import { Integer, Setting } from '#platform/config/settings';

export class EventsSettings {
  static readonly title = 'Event streams';

  @Setting('Streams of events that a user may have open at once, in each process.', { readBy: ['API'] })
  @Integer(1, 1000)
  EVENT_STREAMS_PER_USER = 5;

  @Setting('The same for a client address (an IPv6 /64).', { readBy: ['API'] })
  @Integer(1, 100_000)
  EVENT_STREAMS_PER_ADDRESS = 100;

  @Setting('The same for all. Each takes a file descriptor and some 40 KB.', { readBy: ['API'] })
  @Integer(1, 1_000_000)
  EVENT_STREAMS_PER_PROCESS = 5000;
}
