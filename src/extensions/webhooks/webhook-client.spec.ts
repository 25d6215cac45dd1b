import { answersChallenge } from './webhook-client';

const challenge = 'Zm9vYmFy_-42';

it.each([
  challenge,
  `${challenge}\n`,
  JSON.stringify({ challenge }),
  ` { "challenge" : "${challenge}" } `,
  `\ufeff{"challenge":"${challenge}"}`,
])('answers the challenge: %s', (text) => expect(answersChallenge(text, challenge)).toBe(true));

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
