// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {TokenPool} from "./TokenPool.sol";

/// @title Rotating savings circles over one ERC-20 token
/// @notice In each round every member of a circle pays the contribution, and one of them gets all of it, in the order in
/// which they were named. A circle has as many rounds as members, so everybody gets the pot once. Any number of circles,
/// told apart by a number of this contract: the id of a pool is only repeated, and gives no right.
///
/// Collateral rule: each member locks the same amount when joining. Whoever has not paid when a round's time is over
/// pays from it. If it does not reach for anyone's contribution, nobody's is touched in this round, and the circle ends:
/// contributions of the round, and what is left of each collateral, go back to whose they are. Pots of earlier rounds
/// stay with those who got them. So who has had his turn can stop paying, and others bear what his collateral does not
/// cover. Only a collateral of contribution times members covers everything.
///
/// Time rule: a round ends by a call, which anyone may send once all have paid or the time is over. The next one begins
/// with this call, and takes a whole period at most.
///
/// Nobody has power over a circle that has started, and nobody owns the contract. All money is taken out by whose it is,
/// so an account that the token refuses keeps nobody else waiting.
/// @dev No loop is longer than MOST_MEMBERS, but that of `activeCircles`, whose caller chooses.
contract RotatingPool is TokenPool {
    using SafeERC20 for IERC20;

    enum Status {
        NONE,
        JOINING,
        RUNNING,
        COMPLETED,
        CANCELLED
    }

    /// What anyone may do for a circle now.
    enum Due {
        NOTHING,
        END_ROUND,
        CANCEL
    }

    struct Circle {
        bytes16 poolId;
        /// While members join: the last second to do so. Later: when the round's time is over.
        uint64 until;
        /// Where it stands among those that are active, from 1; zero if it is not.
        uint64 listed;
        uint128 contribution;
        /// What each member locks when joining.
        uint128 collateral;
        address organiser;
        /// Seconds.
        uint32 period;
        /// The current one, or the number of all when completed. Of a cancelled circle the one that did not end.
        uint32 round;
        Status status;
        uint8 members;
        uint8 joined;
        /// Members that have paid in the current round.
        uint8 paid;
    }

    struct Member {
        address account;
        /// The last round that he has paid himself, from 1; zero if none.
        uint32 paidRound;
        /// Rounds that his collateral has paid.
        uint8 missed;
        bool joined;
        bool paidOut;
        bool refunded;
    }

    uint256 public constant LEAST_MEMBERS = 2;
    uint256 public constant MOST_MEMBERS = 32;
    uint32 public constant SHORTEST_PERIOD = 1 hours;
    uint32 public constant LONGEST_PERIOD = 366 days;

    /// @notice The longest time to join. Until then collaterals come back only by the organiser's word.
    uint256 public constant LONGEST_JOINING = 366 days;

    /// @notice The latest circle; ids count from 1.
    uint64 public circles;

    mapping(uint64 circleId => Circle) private _circles;
    /// By place.
    mapping(uint64 circleId => Member[]) private _members;
    /// Place of each member, from 1.
    mapping(uint64 circleId => mapping(address account => uint256)) private _places;
    /// In no order: the last one takes the place of one that ends.
    uint64[] private _active;

    event CircleOpened(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        address indexed organiser,
        uint128 contribution,
        uint128 collateral,
        uint32 period,
        uint32 members,
        uint64 joinBy,
        uint64 seq
    );
    event MemberNamed(
        uint64 indexed circleId, bytes16 indexed poolId, address indexed account, uint32 place, uint64 seq
    );
    event Joined(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        bytes16 ref,
        address indexed account,
        uint256 amount,
        uint64 seq
    );
    event CircleStarted(uint64 indexed circleId, bytes16 indexed poolId, uint64 roundEnd, uint64 seq);
    event Contributed(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        bytes16 ref,
        address indexed account,
        uint32 round,
        uint256 amount,
        uint64 seq
    );
    event CollateralUsed(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        address indexed account,
        uint32 round,
        uint256 amount,
        uint64 seq
    );
    event RoundEnded(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        address indexed account,
        uint32 round,
        uint256 amount,
        uint64 nextEnd,
        uint64 seq
    );
    event CircleCompleted(uint64 indexed circleId, bytes16 indexed poolId, uint64 seq);
    event CircleCancelled(uint64 indexed circleId, bytes16 indexed poolId, uint64 seq);
    event PaidOut(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        bytes16 ref,
        address indexed account,
        uint256 amount,
        uint64 seq
    );
    event CircleRefunded(
        uint64 indexed circleId,
        bytes16 indexed poolId,
        bytes16 ref,
        address indexed account,
        uint256 amount,
        uint64 seq
    );

    error WrongStatus(Status status);
    error WrongMemberCount();
    error WrongMember(address account);
    error WrongPeriod();
    error WrongJoinBy();
    error NotMember();
    error AlreadyJoined();
    error AlreadyPaid();
    error TooEarly();
    error TooLate();
    error NotAllowed();
    error NothingToClaim();
    error NothingToRefund();

    constructor(IERC20 token_, uint256 minimumDeposit_) TokenPool(token_, minimumDeposit_) {}

    /// @notice Opens a circle, which starts when all members have joined. The caller is its organiser, and need not be a
    /// member. Nothing of it ever changes; being named costs a member nothing.
    /// @param contribution What each member pays in each round, at least `minimumDeposit`.
    /// @param collateral What each member locks when joining; zero if nothing.
    /// @param period Longest time of a round, in seconds.
    /// @param joinBy The last second to join, as a block's timestamp.
    /// @param members In the order of their turns.
    function openCircle(
        bytes16 poolId,
        uint128 contribution,
        uint128 collateral,
        uint32 period,
        uint64 joinBy,
        address[] calldata members
    ) external nonReentrant returns (uint64 circleId) {
        if (contribution == 0) revert ZeroAmount();
        _requireMinimum(contribution);
        if (period < SHORTEST_PERIOD || period > LONGEST_PERIOD) revert WrongPeriod();
        if (joinBy <= block.timestamp || joinBy > block.timestamp + LONGEST_JOINING) revert WrongJoinBy();
        if (members.length < LEAST_MEMBERS || members.length > MOST_MEMBERS) revert WrongMemberCount();
        circleId = ++circles;
        _active.push(circleId);
        Circle storage circle = _circles[circleId];
        circle.poolId = poolId;
        circle.until = joinBy;
        circle.listed = uint64(_active.length);
        circle.contribution = contribution;
        circle.collateral = collateral;
        circle.organiser = msg.sender;
        circle.period = period;
        circle.status = Status.JOINING;
        circle.members = uint8(members.length);
        emit CircleOpened(
            circleId,
            poolId,
            msg.sender,
            contribution,
            collateral,
            period,
            uint32(members.length),
            joinBy,
            _nextSeq()
        );
        _name(circleId, poolId, members);
    }

    /// @notice Locks the caller's collateral. With the last member the first round begins.
    /// @param ref Caller's reference, repeated in the event; zero if none. It is public and proves nothing.
    function join(uint64 circleId, bytes16 ref) external nonReentrant {
        _join(circleId, ref);
    }

    /// @notice Like `join`, with a signed allowance (EIP-2612) for exactly the collateral.
    function joinWithPermit(uint64 circleId, bytes16 ref, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        nonReentrant
    {
        _permit(_circles[circleId].collateral, deadline, v, r, s);
        _join(circleId, ref);
    }

    /// @notice Pays the caller's contribution of the current round, before its time is over.
    function contribute(uint64 circleId, bytes16 ref) external nonReentrant {
        _contribute(circleId, ref);
    }

    /// @notice Like `contribute`, with a signed allowance (EIP-2612) for exactly the contribution.
    function contributeWithPermit(uint64 circleId, bytes16 ref, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        nonReentrant
    {
        _permit(_circles[circleId].contribution, deadline, v, r, s);
        _contribute(circleId, ref);
    }

    /// @notice Ends the current round, once all have paid or its time is over. Anyone may call. The pot is then
    /// claimable by whose turn it was; or the circle is cancelled, if a collateral does not reach.
    function endRound(uint64 circleId) external nonReentrant {
        Circle storage circle = _in(circleId, Status.RUNNING);
        if (circle.paid < circle.members) {
            if (block.timestamp < circle.until) revert TooEarly();
            if (!_collateralsReach(circleId, circle)) return _cancel(circleId, circle);
            _useCollaterals(circleId, circle);
        }
        uint32 round = circle.round;
        bool isLast = round + 1 == circle.members;
        uint64 nextEnd = isLast ? 0 : uint64(block.timestamp + circle.period);
        (circle.round, circle.paid, circle.until) = (round + 1, 0, nextEnd);
        address account = _members[circleId][round].account;
        emit RoundEnded(circleId, circle.poolId, account, round, _pot(circle), nextEnd, _nextSeq());
        if (!isLast) return;
        circle.status = Status.COMPLETED;
        _unlist(circle);
        emit CircleCompleted(circleId, circle.poolId, _nextSeq());
    }

    /// @notice Cancels a circle that has not started: the organiser at any time, anyone once the time to join is over.
    function cancelCircle(uint64 circleId) external nonReentrant {
        Circle storage circle = _in(circleId, Status.JOINING);
        if (msg.sender != circle.organiser && block.timestamp <= circle.until) revert NotAllowed();
        _cancel(circleId, circle);
    }

    /// @notice Pays the caller the pot of its round, at any time after that.
    function claimPayout(uint64 circleId, bytes16 ref) external nonReentrant {
        (uint256 amount,) = claimableOf(circleId, msg.sender);
        if (amount == 0) revert NothingToClaim();
        _memberOf(circleId, msg.sender).paidOut = true;
        emit PaidOut(circleId, _circles[circleId].poolId, ref, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    /// @notice Pays the caller what is left of its collateral, once the circle has ended, and the contribution of the
    /// round in which it was cancelled.
    function claimRefund(uint64 circleId, bytes16 ref) external nonReentrant {
        (, uint256 amount) = claimableOf(circleId, msg.sender);
        if (amount == 0) revert NothingToRefund();
        _memberOf(circleId, msg.sender).refunded = true;
        emit CircleRefunded(circleId, _circles[circleId].poolId, ref, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    function circleOf(uint64 circleId) external view returns (Circle memory) {
        return _circles[circleId];
    }

    /// @notice All zero for accounts that are no members.
    function memberOf(uint64 circleId, address account) external view returns (Member memory member) {
        if (_places[circleId][account] != 0) member = _memberOf(circleId, account);
    }

    /// @notice In the order of their turns.
    function membersOf(uint64 circleId) external view returns (Member[] memory) {
        return _members[circleId];
    }

    /// @notice What `claimPayout` and `claimRefund` would pay.
    function claimableOf(uint64 circleId, address account) public view returns (uint256 payout, uint256 refund) {
        uint256 place = _places[circleId][account];
        if (place == 0) return (0, 0);
        Circle storage circle = _circles[circleId];
        Member storage member = _members[circleId][place - 1];
        if (place <= circle.round && !member.paidOut) payout = _pot(circle);
        if (circle.status == Status.COMPLETED || circle.status == Status.CANCELLED) refund = _held(circle, member);
    }

    /// @notice All that the contract holds for the members of a circle.
    function totalOf(uint64 circleId) external view returns (uint256 total) {
        Circle storage circle = _circles[circleId];
        Member[] storage members = _members[circleId];
        for (uint256 i; i < members.length; ++i) {
            total += _held(circle, members[i]);
            if (i < circle.round && !members[i].paidOut) total += _pot(circle);
        }
    }

    /// @notice How many circles are joining or running.
    function activeCount() external view returns (uint256) {
        return _active.length;
    }

    /// @notice One of them, from number 0 on. Their order changes when one ends.
    function activeAt(uint256 i) external view returns (uint64 circleId) {
        return _active[i];
    }

    /// @notice At most `count` of those that are active, from number `from` on, and for each what anyone may do for it
    /// now. Fewer than `count`: there are no more.
    function activeCircles(uint256 from, uint256 count)
        external
        view
        returns (uint64[] memory circleIds, Due[] memory due)
    {
        uint256 rest = from < _active.length ? _active.length - from : 0;
        if (count > rest) count = rest;
        (circleIds, due) = (new uint64[](count), new Due[](count));
        for (uint256 i; i < count; ++i) {
            circleIds[i] = _active[from + i];
            due[i] = dueOf(circleIds[i]);
        }
    }

    /// @notice Whether `endRound` would go through now, or `cancelCircle` by anyone.
    function dueOf(uint64 circleId) public view returns (Due) {
        Circle storage circle = _circles[circleId];
        if (circle.status == Status.JOINING && block.timestamp > circle.until) return Due.CANCEL;
        if (circle.status != Status.RUNNING) return Due.NOTHING;
        return circle.paid == circle.members || block.timestamp >= circle.until ? Due.END_ROUND : Due.NOTHING;
    }

    function _name(uint64 circleId, bytes16 poolId, address[] calldata members) private {
        for (uint256 i; i < members.length; ++i) {
            address account = members[i];
            if (account == address(0) || _places[circleId][account] != 0) revert WrongMember(account);
            _places[circleId][account] = i + 1;
            _members[circleId].push().account = account;
            emit MemberNamed(circleId, poolId, account, uint32(i), _nextSeq());
        }
    }

    function _join(uint64 circleId, bytes16 ref) private {
        Circle storage circle = _in(circleId, Status.JOINING);
        if (block.timestamp > circle.until) revert TooLate();
        Member storage member = _memberOf(circleId, msg.sender);
        if (member.joined) revert AlreadyJoined();
        member.joined = true;
        uint256 amount = circle.collateral;
        emit Joined(circleId, circle.poolId, ref, msg.sender, amount, _nextSeq());
        if (++circle.joined == circle.members) {
            uint64 roundEnd = uint64(block.timestamp + circle.period);
            (circle.status, circle.until) = (Status.RUNNING, roundEnd);
            emit CircleStarted(circleId, circle.poolId, roundEnd, _nextSeq());
        }
        if (amount > 0) _pull(amount);
    }

    function _contribute(uint64 circleId, bytes16 ref) private {
        Circle storage circle = _in(circleId, Status.RUNNING);
        if (block.timestamp >= circle.until) revert TooLate();
        Member storage member = _memberOf(circleId, msg.sender);
        uint32 round = circle.round;
        if (member.paidRound == round + 1) revert AlreadyPaid();
        member.paidRound = round + 1;
        ++circle.paid;
        uint256 amount = circle.contribution;
        emit Contributed(circleId, circle.poolId, ref, msg.sender, round, amount, _nextSeq());
        _pull(amount);
    }

    /// @dev Whether each collateral pays for its member's contribution, where he has not.
    function _collateralsReach(uint64 circleId, Circle storage circle) private view returns (bool) {
        Member[] storage members = _members[circleId];
        for (uint256 i; i < circle.members; ++i) {
            Member storage member = members[i];
            if (member.paidRound == circle.round + 1) continue;
            if ((uint256(member.missed) + 1) * circle.contribution > circle.collateral) return false;
        }
        return true;
    }

    function _useCollaterals(uint64 circleId, Circle storage circle) private {
        Member[] storage members = _members[circleId];
        (bytes16 poolId, uint32 round, uint256 amount) = (circle.poolId, circle.round, circle.contribution);
        for (uint256 i; i < members.length; ++i) {
            Member storage member = members[i];
            if (member.paidRound == round + 1) continue;
            ++member.missed;
            emit CollateralUsed(circleId, poolId, member.account, round, amount, _nextSeq());
        }
    }

    function _cancel(uint64 circleId, Circle storage circle) private {
        circle.status = Status.CANCELLED;
        _unlist(circle);
        emit CircleCancelled(circleId, circle.poolId, _nextSeq());
    }

    function _unlist(Circle storage circle) private {
        uint64 listed = circle.listed;
        uint64 last = _active[_active.length - 1];
        _active[listed - 1] = last;
        _circles[last].listed = listed;
        _active.pop();
        // After the line above, as the last one may be this one.
        circle.listed = 0;
    }

    function _in(uint64 circleId, Status status) private view returns (Circle storage circle) {
        circle = _circles[circleId];
        if (circle.status != status) revert WrongStatus(circle.status);
    }

    function _memberOf(uint64 circleId, address account) private view returns (Member storage) {
        uint256 place = _places[circleId][account];
        if (place == 0) revert NotMember();
        return _members[circleId][place - 1];
    }

    function _pot(Circle storage circle) private view returns (uint256) {
        return uint256(circle.contribution) * circle.members;
    }

    /// @dev What is left of the member's collateral, and its contribution of the current round, or of the one in which
    /// the circle was cancelled. After the last round nobody has paid for the next.
    function _held(Circle storage circle, Member storage member) private view returns (uint256 held) {
        if (!member.joined || member.refunded) return 0;
        held = circle.collateral - uint256(member.missed) * circle.contribution;
        if (member.paidRound == circle.round + 1) held += circle.contribution;
    }
}
