// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TokenPool} from "./TokenPool.sol";

/// @title Savings pools over one ERC-20 token
/// @notice Holds any number of pools, told apart by their 16-byte id. What an account puts in a pool, that account
/// alone takes out again, whenever it wants. The owner's one power is to add yield, which it pays for itself.
///
/// Yield rule: an accrual pays for the time since the accrual before it. It is shared by weight, and an account's
/// weight is its balance times the seconds it held that balance in this time. A deposit in the block of the accrual has
/// no weight in it, and a deposit an hour earlier has the weight of an hour. Accounts that withdraw keep the weight for
/// the time when the money was there. Sharing by current balances would give the yield of a month to whoever deposits
/// just before it arrives. Making deposits wait for a later accrual would leave nobody to pay at the first one. The
/// owner should accrue at even intervals: a sum paid a minute after another goes to whoever holds most in that minute.
///
/// Minimum rule: a deposit is at least `minimumDeposit`, and so is a withdrawal unless it empties the account.
/// Every event costs an indexer a database row; without a minimum, one token unit would be enough to cause it. The
/// minimum applies to each amount, not to balances, because an account with a large balance could send dust too.
/// A balance left below the minimum can always be withdrawn in full. The minimum is no price: what was put in can be
/// taken out again at once. README.md beside this file says what an event costs whoever causes it.
///
/// Compounding rule: yield is paid in again only for an account that has said so itself, in the pool where it was
/// earned, all of it at once, and only if it is at least `minimumDeposit`. Then anyone may send the call, and gains
/// nothing by it: no token moves. From then on it is a deposit like any other, with no weight for the time before.
/// @dev Balances, weights and claimable yield follow from the events, in their order, and the timestamps of their blocks.
contract SavingsPool is Ownable2Step, TokenPool {
    using SafeERC20 for IERC20;

    struct Pool {
        uint128 total;
        /// Number of accruals so far.
        uint64 accruals;
        /// The weight of all accounts together is total * block.timestamp - offset.
        int256 offset;
    }

    struct Accrual {
        uint64 time;
        /// This accrual's yield for one unit of weight, times SCALE.
        uint256 yieldPerWeight;
        /// Yield, up to and including this accrual, for one token unit held since the first accrual, times SCALE.
        uint256 yieldPerUnit;
    }

    struct Account {
        uint128 balance;
        /// The pool's count of accruals when the account last changed.
        uint64 accruals;
        /// Where the account stands among those that compound, from 1; zero if it does not. Shares a slot with the
        /// balance, so whoever does not compound pays nothing for it.
        uint64 place;
        /// The weight in the accrual that follows those is balance * block.timestamp - offset. Storing the offset
        /// instead of the weight makes a call cost the same in every second, so gas estimates stay correct.
        int256 offset;
        /// Unclaimed yield of those accruals.
        uint256 owed;
    }

    /// @notice An account that has its yield paid in again, in one pool.
    struct Compounder {
        bytes16 poolId;
        address account;
    }

    /// @notice The most accounts in one call of `compound`.
    uint256 public constant MOST_AT_ONCE = 100;

    /// @dev The reference of what is paid in again: "compound" in ASCII. Readers of the events know by it that the money
    /// came from the pool itself, and is not the payment that somebody announced.
    bytes16 private constant COMPOUNDED = "compound";

    /// @dev Large enough that rounding the rate costs an accrual less than one token unit while the pool's weight
    /// stays below 2^128: 10^9 tokens of 18 decimals for 10,000 years.
    uint256 private constant SCALE = 2 ** 128;

    mapping(bytes16 poolId => Pool) private _pools;
    mapping(bytes16 poolId => mapping(address account => Account)) private _accounts;
    /// Accruals count from 1. All are kept, because an account looks up the first one after its last change.
    mapping(bytes16 poolId => mapping(uint64 number => Accrual)) private _accruals;
    /// In no order: the last one takes the place of one that stops.
    Compounder[] private _compounders;

    event Deposited(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event Withdrawn(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event YieldClaimed(
        bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq
    );
    event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq);
    event CompoundingStarted(bytes16 indexed poolId, address indexed account, uint64 seq);
    event CompoundingStopped(bytes16 indexed poolId, address indexed account, uint64 seq);

    error PoolFull();
    error LengthMismatch();
    error PoolsNotAscending();
    error InsufficientBalance(uint256 balance, uint256 needed);
    error NothingToClaim();
    error NothingToChange();
    error TooMany();
    error NoDeposits();

    constructor(IERC20 token_, address owner_, uint256 minimumDeposit_)
        Ownable(owner_)
        TokenPool(token_, minimumDeposit_)
    {}

    /// @notice Puts `amount` of the caller's tokens in a pool.
    /// @param ref Caller's reference, repeated in the event; zero if none. It is public and proves nothing.
    function deposit(bytes16 poolId, bytes16 ref, uint256 amount) external nonReentrant {
        _credit(poolId, ref, msg.sender, amount);
        _pull(amount);
    }

    /// @notice Like `deposit`, with a signed allowance (EIP-2612) for exactly `amount` instead of an approval before it.
    function depositWithPermit(
        bytes16 poolId,
        bytes16 ref,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        _permit(amount, deadline, v, r, s);
        _credit(poolId, ref, msg.sender, amount);
        _pull(amount);
    }

    /// @notice Makes several deposits with a single token transfer. Ids ascend, so no pool is named twice: a second
    /// deposit in the same pool would cost its sender hardly more than the event.
    function depositMany(bytes16[] calldata poolIds, bytes16[] calldata refs, uint256[] calldata amounts)
        external
        nonReentrant
    {
        if (poolIds.length != refs.length || poolIds.length != amounts.length) revert LengthMismatch();
        uint256 sum;
        for (uint256 i; i < poolIds.length; ++i) {
            if (i > 0 && poolIds[i] <= poolIds[i - 1]) revert PoolsNotAscending();
            _credit(poolIds[i], refs[i], msg.sender, amounts[i]);
            sum += amounts[i];
        }
        _pull(sum);
    }

    /// @notice Withdraws at least the minimum, or all that the caller has in the pool. Yield stays claimable, and the
    /// next accrual still pays for the time when the money was there.
    function withdraw(bytes16 poolId, bytes16 ref, uint256 amount) external nonReentrant {
        if (amount == 0) revert ZeroAmount();
        Account storage account = _settle(poolId, msg.sender);
        uint128 balance = account.balance;
        if (amount > balance) revert InsufficientBalance(balance, amount);
        if (amount < balance) _requireMinimum(amount);
        account.balance = balance - uint128(amount);
        account.offset -= _offset(amount);
        Pool storage pool = _pools[poolId];
        pool.total -= uint128(amount);
        pool.offset -= _offset(amount);
        emit Withdrawn(poolId, ref, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice Pays the caller all the yield it has earned in the pool.
    function claimYield(bytes16 poolId, bytes16 ref) external nonReentrant {
        uint256 amount = _claim(poolId, ref, msg.sender);
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice From now on anyone may pay the caller's yield in again, into the pool where it was earned, and what it has
    /// earned so far too. Holds until `stopCompounding`, also while the caller has no deposit.
    function startCompounding(bytes16 poolId) external nonReentrant {
        Account storage account = _accounts[poolId][msg.sender];
        if (account.place != 0) revert NothingToChange();
        _compounders.push(Compounder(poolId, msg.sender));
        account.place = uint64(_compounders.length);
        emit CompoundingStarted(poolId, msg.sender, _nextSeq());
    }

    /// @notice From now on the caller's yield waits for `claimYield` again. What was paid in stays a deposit.
    function stopCompounding(bytes16 poolId) external nonReentrant {
        uint64 place = _accounts[poolId][msg.sender].place;
        if (place == 0) revert NothingToChange();
        Compounder memory last = _compounders[_compounders.length - 1];
        _compounders[place - 1] = last;
        _accounts[last.poolId][last.account].place = place;
        _compounders.pop();
        // After the line above, as the last one may be the caller.
        _accounts[poolId][msg.sender].place = 0;
        emit CompoundingStopped(poolId, msg.sender, _nextSeq());
    }

    /// @notice Pays yield in again for accounts that want it. Anyone may call. Those for which there is nothing to do are
    /// passed over, so that none of them, by a call of its own just before, makes it fail for the others. Reverts if
    /// there is nothing to do for any.
    function compound(bytes16[] calldata poolIds, address[] calldata accounts) external nonReentrant {
        if (poolIds.length != accounts.length) revert LengthMismatch();
        if (poolIds.length > MOST_AT_ONCE) revert TooMany();
        bool done;
        for (uint256 i; i < poolIds.length; ++i) {
            if (compoundableOf(poolIds[i], accounts[i]) == 0) continue;
            _credit(poolIds[i], COMPOUNDED, accounts[i], _claim(poolIds[i], COMPOUNDED, accounts[i]));
            done = true;
        }
        if (!done) revert NothingToClaim();
    }

    /// @notice Adds yield, paid by the owner, for the accounts that held deposits since the last accrual, in
    /// proportion to their weights. Reverts if none held any for at least a second: try again in a later block.
    /// @dev Shares round down: the remainder, a few token units, stays in the contract for good.
    /// @param aprBps The yearly rate the owner states, in hundredths of a percent. Nothing here checks it.
    function accrueYield(bytes16 poolId, uint256 amount, uint32 aprBps) external onlyOwner nonReentrant {
        if (amount == 0) revert ZeroAmount();
        Pool storage pool = _pools[poolId];
        uint256 weight = _weight(pool.total, pool.offset, block.timestamp);
        if (weight == 0) revert NoDeposits();
        Accrual storage last = _accruals[poolId][pool.accruals];
        Accrual storage next = _accruals[poolId][++pool.accruals];
        next.time = uint64(block.timestamp);
        next.yieldPerWeight = Math.mulDiv(amount, SCALE, weight);
        // The first sum is not needed: accounts from before the first accrual are paid by weight for it.
        if (last.time != 0) next.yieldPerUnit = last.yieldPerUnit + next.yieldPerWeight * (next.time - last.time);
        pool.offset = _offset(pool.total);
        emit YieldAccrued(poolId, amount, aprBps, _nextSeq());
        _pull(amount);
    }

    /// @notice Tokens all accounts together have in the pool, yield not counted.
    function totalOf(bytes16 poolId) external view returns (uint256) {
        return _pools[poolId].total;
    }

    /// @notice Tokens an account can withdraw from the pool.
    function balanceOf(bytes16 poolId, address account) external view returns (uint256) {
        return _accounts[poolId][account].balance;
    }

    /// @notice Yield an account can claim from the pool.
    function claimableOf(bytes16 poolId, address account) external view returns (uint256 owed) {
        (owed,) = _earned(poolId, _accounts[poolId][account]);
    }

    /// @notice What `compound` would pay in again for an account: all its yield, or nothing if it does not want that, if
    /// it is less than the minimum, or if the pool is full.
    function compoundableOf(bytes16 poolId, address account) public view returns (uint256 amount) {
        Account storage found = _accounts[poolId][account];
        if (found.place == 0) return 0;
        (amount,) = _earned(poolId, found);
        if (amount < minimumDeposit || amount > type(uint128).max - _pools[poolId].total) return 0;
    }

    /// @notice Whether an account's yield is paid in again.
    function isCompounding(bytes16 poolId, address account) external view returns (bool) {
        return _accounts[poolId][account].place != 0;
    }

    /// @notice At most `count` of those whose yield is paid in again, from number `from` on, and for each what `compound`
    /// would pay in now. Their order changes when one stops. Fewer than `count`: there are no more.
    function compounders(uint256 from, uint256 count)
        external
        view
        returns (Compounder[] memory found, uint256[] memory amounts)
    {
        uint256 rest = from < _compounders.length ? _compounders.length - from : 0;
        if (count > rest) count = rest;
        (found, amounts) = (new Compounder[](count), new uint256[](count));
        for (uint256 i; i < count; ++i) {
            found[i] = _compounders[from + i];
            amounts[i] = compoundableOf(found[i].poolId, found[i].account);
        }
    }

    /// @notice An account's weight in the next accrual if it happened now: token units times seconds.
    function weightOf(bytes16 poolId, address account) external view returns (uint256) {
        Account storage found = _accounts[poolId][account];
        (, int256 offset) = _earned(poolId, found);
        return _weight(found.balance, offset, block.timestamp);
    }

    /// @notice The weight of all accounts of the pool in the next accrual if it happened now.
    function totalWeightOf(bytes16 poolId) external view returns (uint256) {
        return _weight(_pools[poolId].total, _pools[poolId].offset, block.timestamp);
    }

    function _credit(bytes16 poolId, bytes16 ref, address holder, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        _requireMinimum(amount);
        Pool storage pool = _pools[poolId];
        // Keeps weights far from overflow, which would block withdrawals.
        if (amount > type(uint128).max - pool.total) revert PoolFull();
        pool.total += uint128(amount);
        pool.offset += _offset(amount);
        Account storage account = _settle(poolId, holder);
        account.balance += uint128(amount);
        account.offset += _offset(amount);
        emit Deposited(poolId, ref, holder, amount, _nextSeq());
    }

    /// @dev Books all the yield as claimed; its caller pays it out, or in again.
    function _claim(bytes16 poolId, bytes16 ref, address holder) private returns (uint256 amount) {
        Account storage account = _settle(poolId, holder);
        amount = account.owed;
        if (amount == 0) revert NothingToClaim();
        account.owed = 0;
        emit YieldClaimed(poolId, ref, holder, amount, _nextSeq());
    }

    /// @dev The offset that gives an amount below 2^128 no weight now.
    function _offset(uint256 amount) private view returns (int256) {
        return int256(amount * block.timestamp);
    }

    /// @dev Never negative: every amount came in at or before `time`.
    function _weight(uint256 amount, int256 offset, uint256 time) private pure returns (uint256) {
        return uint256(int256(amount * time) - offset);
    }

    /// @dev Must run before a balance changes: yield up to now belongs to the balance up to now.
    function _settle(bytes16 poolId, address holder) private returns (Account storage account) {
        account = _accounts[poolId][holder];
        uint64 accruals = _pools[poolId].accruals;
        if (account.accruals != accruals) {
            (account.owed, account.offset) = _earned(poolId, account);
            account.accruals = accruals;
        }
    }

    /// @dev This arithmetic also stands in src/indexer/ledger/positions.ts, src/verify/checks/yield-model.ts and
    /// src/extensions/positions/positions.sql.ts: a change to one is a change to all four.
    ///
    /// The account's `owed` and `offset` with all accruals so far. The first one after the account's last change
    /// is shared by its weight in it. The balance did not change during later ones, so one multiplication covers all
    /// of them.
    function _earned(bytes16 poolId, Account storage account) private view returns (uint256 owed, int256 offset) {
        (owed, offset) = (account.owed, account.offset);
        uint64 accruals = _pools[poolId].accruals;
        if (account.accruals == accruals) return (owed, offset);
        Accrual storage first = _accruals[poolId][account.accruals + 1];
        Accrual storage last = _accruals[poolId][accruals];
        uint256 balance = account.balance;
        owed += Math.mulDiv(_weight(balance, offset, first.time), first.yieldPerWeight, SCALE);
        owed += Math.mulDiv(balance, last.yieldPerUnit - first.yieldPerUnit, SCALE);
        offset = int256(balance * last.time);
    }
}
