import { ChainRpc, ChainUnavailable } from './chain-rpc';
import { rpcEndpoints } from './endpoints';

it('an error of the chain names hosts alone', async () => {
  // Nothing listens on port 1.
  const chain = new ChainRpc(
    rpcEndpoints('http://s3cret:s3cret@127.0.0.1:1/s3cret?key=s3cret,http://[::1]:1/s3cret'),
  );
  const error = await chain.request('eth_getCode', ['0x0', 'latest']).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ChainUnavailable);
  expect((error as Error).message).toMatch(/127\.0\.0\.1:1: .*\[::1\]:1: /);
  expect(String((error as Error).stack)).not.toContain('s3cret');
  expect((error as Error).cause).toBeUndefined();
});
