import { answersChallenge, networkOf } from './webhook-client';

const challenge = 'Zm9vYmFy_-42';

it.each([challenge, `${challenge}\n`, JSON.stringify({ challenge }), ` { "challenge" : "${challenge}" } `])(
  'answers the challenge: %s',
  (text) => expect(answersChallenge(text, challenge)).toBe(true),
);

it.each([
  ['nothing', ''],
  ['another text', 'Zm9vYmFy_-43'],
  ['a beginning', challenge.slice(0, -1)],
  ['more than it', `${challenge}${challenge}`],
  ['all of the request', JSON.stringify({ id: '1', topic: 'challenge', challenge })],
  ['a request within an answer', JSON.stringify({ json: { challenge }, data: '' })],
  ['a text that contains it', `Not found: {"challenge":"${challenge}"}`],
  ['a list', JSON.stringify([challenge])],
  ['a field of another type', JSON.stringify({ challenge: [challenge] })],
  ['no field', '{}'],
  ['no JSON', '{'],
  ['an object within', JSON.stringify({ challenge: { challenge } })],
])('does not answer it: %s', (_, text) => expect(answersChallenge(text, challenge)).toBe(false));

it.each([
  ['93.184.216.34', '93.184.216'],
  ['2606:4700:4700::1111', '2606:4700:4700'],
  ['2606:4700:4700:1:2:3:4:5', '2606:4700:4700'],
  ['2001:db8::1', '2001:db8:0'],
  ['2600::', '2600:0:0'],
  ['::1', ':0:0'],
])('%s belongs to %s', (address, network) => expect(networkOf(address)).toBe(network));
