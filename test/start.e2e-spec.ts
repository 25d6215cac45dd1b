import { type SignedIn, useApp } from './support/app';

const app = useApp();
let user: SignedIn;

beforeAll(async () => {
  user = await app.signIn();
});

describe('the start call', () => {
  it('says what the endpoints say', async () => {
    const { id } = (await app.createPool(user)) as { id: string };
    const { status, body, text } = await app.get('/users/me/start', user);
    console.log(text);
    expect([status, body.data.pools.data[0].id]).toEqual([200, id]);
  });
});
