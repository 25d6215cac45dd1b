import type { PoolDetail } from '@pooled-savings/client';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isAddress } from 'viem';
import { PERIODS } from './circle-texts.js';
import { chainNow } from './clock.js';
import { Dialog, ProblemText, Submit } from './parts.js';
import { type Problem, problemOf } from './errors.js';
import { AmountField, Field, useSubmit, useWrong } from './fields.js';
import { type Token, exactText, readAmount, shortAddress, withSymbol } from './format.js';
import { client } from './session.js';
import type { Tokens } from './tokens.js';

const [LEAST_MEMBERS, MOST_MEMBERS] = [2, 32];
const [HOUR, , WEEK] = PERIODS.map(([seconds]) => seconds);

/** What the members agree on. Amounts in smallest units, times in seconds. */
export interface NewCircle {
  contribution: bigint;
  collateral: bigint;
  period: number;
  joinBy: Date;
  members: readonly string[];
}

/** Asks for what the members of a circle agree on, for good. */
export function OpenCircleDialog({
  pool,
  tokens,
  isLocal,
  onClose,
  onOpen,
}: {
  pool: string;
  tokens: Tokens;
  /** On the local chain nobody waits a week. */
  isLocal: boolean;
  onClose: () => void;
  /** Resolves to what is wrong; nothing was sent then. */
  onOpen: (terms: NewCircle) => Promise<Problem | undefined>;
}) {
  const [detail, setDetail] = useState<PoolDetail>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    client.pools.get(pool).then(setDetail, (error: unknown) => setProblem(problemOf(error)));
  }, [pool]);
  return (
    <Dialog title="Open the circle" onClose={onClose}>
      {problem && <ProblemText problem={problem} />}
      {detail && (
        <Terms
          pool={detail}
          token={tokens.ofContract(detail.contractAddress)}
          isLocal={isLocal}
          onClose={onClose}
          onOpen={onOpen}
        />
      )}
    </Dialog>
  );
}

function Terms({
  pool,
  token,
  isLocal,
  onClose,
  onOpen,
}: {
  pool: PoolDetail;
  token: Token;
  isLocal: boolean;
  onClose: () => void;
  onOpen: (terms: NewCircle) => Promise<Problem | undefined>;
}) {
  const known = [pool.owner.address, ...pool.memberAddresses];
  const announced = pool.transactions.find(({ status }) => status === 'PENDING')?.amount;
  const usual = announced ? exactText(announced, token) : '';
  const [contribution, setContribution] = useState(usual);
  const [collateral, setCollateral] = useState(usual);
  const [period, setPeriod] = useState(isLocal ? HOUR : WEEK);
  const [joining, setJoining] = useState(isLocal ? HOUR : WEEK);
  const [order, setOrder] = useState(known.join('\n'));
  const { busy, problem, amountWrong, submit } = useSubmit(onClose);
  const { form, wrong, check } = useWrong<'contribution' | 'collateral' | 'members'>(amountWrong);
  const members = order.split(/[\s,;]+/).filter(Boolean);
  const [paid, locked] = [readAmount(contribution, token), readAmount(collateral, token)];
  const isNone = /^\s*(0([.,]0*)?)?\s*$/.test(collateral);
  const send = (event: JSX.TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fine = check({
      contribution: 'wrong' in paid ? paid.wrong : undefined,
      collateral: !isNone && 'wrong' in locked ? locked.wrong : undefined,
      members: wrongMembers(members, known),
    });
    if (!fine || 'wrong' in paid) return;
    submit(() =>
      onOpen({
        contribution: paid.units,
        collateral: !isNone && 'units' in locked ? locked.units : 0n,
        period,
        joinBy: new Date(chainNow() + joining * 1000),
        members,
      }),
    );
  };
  return (
    <form ref={form} onSubmit={send} noValidate>
      <p class="hint">
        In each round everyone pays, and one of you gets all of it, until everyone had a turn. What you say
        here holds for good.
      </p>
      <AmountField
        label="Each pays in a round"
        says="Each pays"
        token={token}
        text={contribution}
        setText={setContribution}
        wrong={wrong.contribution ?? amountWrong}
      />
      <AmountField
        label="Each locks to join"
        says="Each locks"
        token={token}
        text={collateral}
        setText={setCollateral}
        wrong={isNone ? undefined : wrong.collateral}
      >
        <span>{coverText(paid, isNone ? { units: 0n } : locked, members.length, token)}</span>
      </AmountField>
      <Choice label="A round takes at most" value={period} setValue={setPeriod} />
      <Choice label="Time to join" value={joining} setValue={setJoining} />
      <Field label="Members in the order of their turns, one address a line" wrong={wrong.members}>
        {(description) => (
          <textarea
            {...description}
            rows={Math.min(8, 2 * known.length)}
            value={order}
            spellcheck={false}
            onInput={(event) => setOrder(event.currentTarget.value)}
          />
        )}
      </Field>
      <Submit text="Open the circle" busy={busy} problem={problem} />
    </form>
  );
}

function Choice({
  label,
  value,
  setValue,
}: {
  label: string;
  value: number;
  setValue: (seconds: number) => void;
}) {
  return (
    <Field label={label} wrong={undefined}>
      {(description) => (
        <select
          {...description}
          value={value}
          onChange={(event) => setValue(Number(event.currentTarget.value))}
        >
          {PERIODS.map(([seconds, text]) => (
            <option key={seconds} value={seconds}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type Read = ReturnType<typeof readAmount>;

/** What the locked money is for. */
function coverText(paid: Read, locked: Read, members: number, token: Token): string {
  if ('wrong' in paid || 'wrong' in locked) return '';
  const rounds = locked.units / paid.units;
  if (rounds >= BigInt(members)) return 'It pays for everyone who does not pay, in every round.';
  const covers =
    rounds === 0n
      ? 'It pays for nobody: a member who does not pay ends the circle.'
      : `It pays for ${rounds === 1n ? 'one round that somebody does' : `${rounds} rounds that somebody does`} not pay; one more, and the circle ends.`;
  return `${covers} ${withSymbol(paid.units * BigInt(members), token)} would cover everything.`;
}

/** @param known who may see the pool */
function wrongMembers(members: readonly string[], known: readonly string[]): string | undefined {
  const strange = members.find((each) => !isAddress(each, { strict: false }));
  if (strange) return `${strange.length > 14 ? shortAddress(strange) : strange} is not an address`;
  const lower = members.map((each) => each.toLowerCase());
  const stranger = lower.find((each) => !known.includes(each));
  if (stranger) return `${shortAddress(stranger)} is no member of this pool, and would not see it`;
  if (new Set(lower).size < lower.length) return 'Someone is named twice';
  return members.length < LEAST_MEMBERS || members.length > MOST_MEMBERS
    ? `A circle has ${LEAST_MEMBERS} to ${MOST_MEMBERS} members`
    : undefined;
}
