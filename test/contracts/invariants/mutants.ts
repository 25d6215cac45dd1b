/** A possible mistake in the contracts: the correct text, and its replacement. */
export interface Mutant {
  name: string;
  contract: 'SavingsPool' | 'LotteryPool' | 'RotatingPool';
  before: string;
  after: string;
  /** Of sequences that show it, if the usual ones do not. */
  seed?: number;
}

const DIFFS = `
SavingsPool: a deposit before yield is settled
- Account storage account = _settle(poolId, holder);
-         account.balance +=
+ Account storage account = _accounts[poolId][holder];
+         account.balance +=
SavingsPool: yield that is claimed twice
- account.owed = 0;
SavingsPool: a withdrawal without the total
- pool.total -= uint128(amount);
SavingsPool: a withdrawal that keeps its weight
- pool.offset -= _offset(amount);
SavingsPool: a number that is there twice
- emit Withdrawn(poolId, ref, msg.sender, amount, _nextSeq());
+ emit Withdrawn(poolId, ref, msg.sender, amount, seq);
SavingsPool: shares that are rounded up
- first.yieldPerWeight, SCALE)
+ first.yieldPerWeight, SCALE, Math.Rounding.Ceil)
SavingsPool: yield that nobody pays
- emit YieldAccrued(poolId, amount, aprBps, _nextSeq());
-         _pull(amount);
+ emit YieldAccrued(poolId, amount, aprBps, _nextSeq());
SavingsPool: two deposits in one pool at once
- poolIds[i] <= poolIds[i - 1]
+ poolIds[i] < poolIds[i - 1]
SavingsPool: yield that is paid in again without consent
- if (found.place == 0) return 0;
SavingsPool: yield that is paid in again for the sender of the call
- _credit(poolIds[i], COMPOUNDED, accounts[i], 
+ _credit(poolIds[i], COMPOUNDED, msg.sender, 
SavingsPool: yield that is paid out as well as in again
- done = true;
+ done = true;
+             token.safeTransfer(msg.sender, 1);
SavingsPool: dust that is paid in again
- amount < minimumDeposit || amount >
+ amount == 0 || amount >
SavingsPool: compounding that one account spoils for the others
- == 0) continue;
+ == 0) revert NothingToClaim();
SavingsPool: an account that is lost when another stops to compound
- _accounts[last.poolId][last.account].place = place;
SavingsPool: an account that cannot stop to compound
- _accounts[poolId][msg.sender].place = 0;
SavingsPool: a cost that grows with the events
- pool.total += uint128(amount);
+ for (uint128 i; i < seq; ++i) require(_pools[bytes16(~i)].total == 0);
+         pool.total += uint128(amount);
LotteryPool: a refund that is paid twice
- _paidIn[drawId][msg.sender] = 0;
LotteryPool: a refund of an open draw
- == Status.CANCELLED ? _paidIn
+ != Status.COMPLETED ? _paidIn
LotteryPool: a prize that is paid twice
- draw.paid = true;
LotteryPool: a prize that anyone sends on
- if (msg.sender != _draws[drawId].winner) revert NotAllowed();
LotteryPool: tickets that are sold too late
- if (block.timestamp >= draw.drawTime) revert DrawTimePassed();
LotteryPool: a winner by the ticket before (seed 5)
- lowerLookup(uint96(ticket + 1))
+ lowerLookup(uint96(ticket))
LotteryPool: another block that picks, before the first has
- block.number <= draw.pickBlock + HASH_WINDOW
+ block.number < draw.pickBlock
LotteryPool: a draw that anyone cancels without waiting
- block.timestamp < draw.drawTime + GRACE
+ block.timestamp < draw.drawTime
RotatingPool: a payout that is paid twice
- _memberOf(circleId, msg.sender).paidOut = true;
RotatingPool: a refund of a circle that is paid twice
- _memberOf(circleId, msg.sender).refunded = true;
RotatingPool: a collateral that pays without becoming less
- ++member.missed;
RotatingPool: a collateral that reaches once too often
- (uint256(member.missed) + 1) * circle.contribution > circle.collateral
+ uint256(member.missed) * circle.contribution > circle.collateral
RotatingPool: a collateral that comes back while the circle runs
- if (circle.status == Status.COMPLETED || circle.status == Status.CANCELLED) refund
+ refund
RotatingPool: a contribution of a cancelled round that stays
- if (member.paidRound == circle.round + 1) held +=
+ if (circle.status == Status.RUNNING && member.paidRound == circle.round + 1) held +=
RotatingPool: a contribution that is made twice in a round
- if (member.paidRound == round + 1) revert AlreadyPaid();
RotatingPool: a contribution after the end of the round
- if (block.timestamp >= circle.until) revert TooLate();
+ if (block.timestamp > circle.until) revert TooLate();
RotatingPool: a round that ends too early
- if (block.timestamp < circle.until) revert TooEarly();
RotatingPool: a round that waits although all have paid
- if (circle.paid < circle.members) {
+ if (circle.paid <= circle.members) {
RotatingPool: payers that are counted on in the next round
- = (round + 1, 0, nextEnd)
+ = (round + 1, circle.paid, nextEnd)
RotatingPool: a pot for the turn after
- place <= circle.round && !member.paidOut
+ place <= circle.round + 1 && !member.paidOut
RotatingPool: a circle that others cancel before its time
- && block.timestamp <= circle.until) revert NotAllowed
+ && block.timestamp < circle.until) revert NotAllowed
RotatingPool: somebody who joins too late
- if (block.timestamp > circle.until) revert TooLate();
RotatingPool: a member who is named twice
-  || _places[circleId][account] != 0
RotatingPool: a circle that is lost when another ends
- _circles[last].listed = listed;
RotatingPool: a contribution that nobody pays
- emit Contributed(circleId, circle.poolId, ref, msg.sender, round, amount, _nextSeq());
-         _pull(amount);
+ emit Contributed(circleId, circle.poolId, ref, msg.sender, round, amount, _nextSeq());
RotatingPool: an event of a circle without a number
- emit CollateralUsed(circleId, poolId, member.account, round, amount, _nextSeq());
+ emit CollateralUsed(circleId, poolId, member.account, round, amount, seq);
`;

export const MUTANTS = [...DIFFS.matchAll(/^(\w+): (.*?)(?: \(seed (\d+)\))?\n((?:[-+] .*\n)+)/gm)].map(
  ([, contract, name, seed, lines]): Mutant => {
    const side = (sign: string): string =>
      lines
        .split('\n')
        .flatMap((line) => (line.startsWith(sign) ? line.slice(2) : []))
        .join('\n');
    return {
      ...{ name, contract: contract as Mutant['contract'], before: side('-'), after: side('+') },
      ...(seed && { seed: Number(seed) }),
    };
  },
);
