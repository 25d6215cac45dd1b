// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {SavingsPool} from "./SavingsPool.sol";

/// @title Savings pools with prize draws
/// @notice One draw at a time. Ticket money and gifts make the prize; the winner gets all of it, or, when the draw is
/// cancelled, everyone gets back what they paid. Deposits and yield never enter a prize.
///
/// A draw that is closed cannot be cancelled, by nobody and never: from then on the prize belongs to one of the tickets.
/// Otherwise whoever does not win could wait until the block hash is out of reach, and take his money back; above all
/// the owner, if gifts are his. When nobody picks the winner in time, another block decides.
/// @dev Randomness: the hash of the block after the one that closes the draw decides the winner. Nobody knows the hash
/// when the last ticket is sold. But whoever builds that block can make many, at next to no cost, and publish the one he
/// likes best; on a chain with a single sequencer the sequencer decides. Prizes worth that need a VRF.
contract LotteryPool is SavingsPool {
    using SafeERC20 for IERC20;
    using SafeCast for uint256;
    using Checkpoints for Checkpoints.Trace160;

    enum Status {
        NONE,
        ACTIVE,
        DRAWING,
        COMPLETED,
        CANCELLED
    }

    struct Draw {
        Status status;
        uint64 drawTime;
        /// The block whose hash picks the winner; zero until the draw is closed. A later one if that was missed.
        uint64 pickBlock;
        uint96 tickets;
        uint256 ticketPrice;
        uint256 prize;
        address winner;
        bool paid;
    }

    /// @notice After this time past its drawTime anyone may cancel a draw that the owner left open.
    uint256 public constant GRACE = 7 days;

    /// @notice The longest time between the opening of a draw and its drawTime. Until GRACE after that, ticket money
    /// comes back only by the owner's word.
    uint256 public constant LONGEST_SALE = 366 days;

    /// @dev The number of recent blocks whose hash the EVM knows (BLOCKHASH opcode).
    uint256 private constant HASH_WINDOW = 256;

    /// @dev Knows the hashes of the last 8191 blocks, on chains that have it (EIP-2935, Prague).
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    /// @notice The latest draw; ids count from 1.
    uint64 public currentDraw;

    mapping(uint64 drawId => Draw) private _draws;
    mapping(uint64 drawId => mapping(address account => uint256)) private _tickets;
    mapping(uint64 drawId => mapping(address account => uint256)) private _paidIn;
    /// Buyer by the number of tickets sold up to and including the purchase. A purchase of any size takes one slot.
    mapping(uint64 drawId => Checkpoints.Trace160) private _buyers;

    event DrawOpened(uint64 indexed drawId, uint256 ticketPrice, uint64 drawTime, uint64 seq);
    event TicketsIssued(uint64 indexed drawId, address indexed account, uint256 count, uint64 seq);
    event PrizeFunded(uint64 indexed drawId, address indexed funder, uint256 amount, uint64 seq);
    event DrawClosed(uint64 indexed drawId, uint64 seq);
    event DrawCompleted(uint64 indexed drawId, address indexed winner, uint256 prize, uint64 seq);
    event DrawCancelled(uint64 indexed drawId, uint64 seq);
    event PrizePaid(uint64 indexed drawId, address indexed winner, uint256 amount, uint64 seq);
    event Refunded(uint64 indexed drawId, address indexed account, uint256 amount, uint64 seq);

    error WrongStatus(Status status);
    error DrawTimePassed();
    error DrawTimeTooFar();
    error TooEarly();
    error NoTickets();
    error HashUnavailable();
    error NotAllowed();
    error NothingToRefund();

    constructor(IERC20 token_, address owner_, uint256 minimumDeposit_)
        SavingsPool(token_, owner_, minimumDeposit_)
    {
        // On a chain without block hashes a closed draw would have no end.
        if (blockhash(block.number - 1) == 0) revert HashUnavailable();
    }

    /// @notice Opens the next draw, once the one before is completed or cancelled. A ticket costs at least
    /// `minimumDeposit`.
    function openDraw(uint256 ticketPrice, uint64 drawTime) external onlyOwner nonReentrant returns (uint64 drawId) {
        Status last = _draws[currentDraw].status;
        if (last == Status.ACTIVE || last == Status.DRAWING) revert WrongStatus(last);
        if (ticketPrice == 0) revert ZeroAmount();
        _requireMinimum(ticketPrice);
        if (drawTime <= block.timestamp) revert DrawTimePassed();
        if (drawTime > block.timestamp + LONGEST_SALE) revert DrawTimeTooFar();
        drawId = ++currentDraw;
        Draw storage draw = _draws[drawId];
        draw.status = Status.ACTIVE;
        draw.drawTime = drawTime;
        draw.ticketPrice = ticketPrice;
        emit DrawOpened(drawId, ticketPrice, drawTime, _nextSeq());
    }

    /// @notice Buys tickets until the draw time. The buyer names the draw; its price and time never change.
    function buyTickets(uint64 drawId, uint256 count) external nonReentrant {
        _buy(drawId, count);
    }

    /// @notice Like `buyTickets`, with a signed allowance (EIP-2612) for exactly the price of these tickets.
    function buyTicketsWithPermit(uint64 drawId, uint256 count, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        nonReentrant
    {
        _permit(count * _draws[drawId].ticketPrice, deadline, v, r, s);
        _buy(drawId, count);
    }

    /// @notice Adds a gift of at least `minimumDeposit` to the prize of a draw that is not closed yet.
    function fundPrize(uint64 drawId, uint256 amount) external nonReentrant {
        if (amount == 0) revert ZeroAmount();
        _requireMinimum(amount);
        _addToPrize(_active(drawId), drawId, amount);
    }

    /// @notice Ends the sale and fixes the block that will pick the winner.
    function closeDraw(uint64 drawId) external onlyOwner nonReentrant {
        Draw storage draw = _active(drawId);
        if (block.timestamp < draw.drawTime) revert TooEarly();
        if (draw.tickets == 0) revert NoTickets();
        draw.status = Status.DRAWING;
        _letPick(draw, drawId);
    }

    /// @notice Picks the winner, from the second block after closing. Anyone may call, so that no one can hold back a
    /// result until its hash is out of reach: after 8191 blocks, or 256 on a chain that keeps no more. Then the same call
    /// closes the draw anew, and the block after it picks.
    function completeDraw(uint64 drawId) external nonReentrant {
        Draw storage draw = _draws[drawId];
        if (draw.status != Status.DRAWING) revert WrongStatus(draw.status);
        bytes32 entropy = _hashOf(draw.pickBlock);
        if (entropy == 0) {
            if (block.number <= draw.pickBlock + HASH_WINDOW) revert HashUnavailable();
            _letPick(draw, drawId);
            return;
        }
        uint256 ticket = uint256(keccak256(abi.encode(entropy, address(this), drawId))) % draw.tickets;
        address winner = address(_buyers[drawId].lowerLookup(uint96(ticket + 1)));
        draw.status = Status.COMPLETED;
        draw.winner = winner;
        emit DrawCompleted(drawId, winner, draw.prize, _nextSeq());
    }

    /// @notice Pays the winner. Anyone may call.
    /// @dev Separate from completeDraw: a token that refuses the winner must not prevent a draw from ending.
    function claimPrize(uint64 drawId) external nonReentrant {
        _payPrize(drawId, _draws[drawId].winner);
    }

    /// @notice Pays the prize to whom the winner names, for instance because the token refuses the winner. Only the
    /// winner may call.
    function claimPrizeTo(uint64 drawId, address recipient) external nonReentrant {
        if (msg.sender != _draws[drawId].winner) revert NotAllowed();
        _payPrize(drawId, recipient);
    }

    /// @notice Cancels an open draw: the owner at any time, anyone once the owner is GRACE late.
    function cancelDraw(uint64 drawId) external nonReentrant {
        Draw storage draw = _active(drawId);
        if (msg.sender != owner() && block.timestamp < draw.drawTime + GRACE) revert NotAllowed();
        draw.status = Status.CANCELLED;
        emit DrawCancelled(drawId, _nextSeq());
    }

    /// @notice Refunds what the caller paid into a cancelled draw, for tickets and as gifts.
    function refund(uint64 drawId) external nonReentrant {
        uint256 amount = refundableOf(drawId, msg.sender);
        if (amount == 0) revert NothingToRefund();
        _paidIn[drawId][msg.sender] = 0;
        emit Refunded(drawId, msg.sender, amount, _nextSeq());
        token.safeTransfer(msg.sender, amount);
    }

    function drawOf(uint64 drawId) external view returns (Draw memory) {
        return _draws[drawId];
    }

    function ticketsOf(uint64 drawId, address account) external view returns (uint256) {
        return _tickets[drawId][account];
    }

    /// @notice What refund() would pay; zero unless the draw is cancelled.
    function refundableOf(uint64 drawId, address account) public view returns (uint256) {
        return _draws[drawId].status == Status.CANCELLED ? _paidIn[drawId][account] : 0;
    }

    function _active(uint64 drawId) private view returns (Draw storage draw) {
        draw = _draws[drawId];
        if (draw.status != Status.ACTIVE) revert WrongStatus(draw.status);
    }

    /// @dev The next block picks: nobody knows its hash yet.
    function _letPick(Draw storage draw, uint64 drawId) private {
        draw.pickBlock = uint64(block.number + 1);
        emit DrawClosed(drawId, _nextSeq());
    }

    /// @dev Zero for a block that is still to come or out of reach. The history is believed only if it counts blocks as
    /// BLOCKHASH does: on Arbitrum it goes by the chain's own blocks, and `block.number` by those of Ethereum, so that
    /// another hash, known for long, would decide as soon as the right one is out of reach.
    function _hashOf(uint256 number) private view returns (bytes32 hash) {
        hash = blockhash(number);
        if (hash != 0 || number >= block.number) return hash;
        if (_historyOf(block.number - 1) == blockhash(block.number - 1)) return _historyOf(number);
    }

    /// @dev Zero if it does not know the block. A caller cannot make this fail by giving little gas: a 64th of what is
    /// too little for the history pays for nothing that comes after it.
    function _historyOf(uint256 number) private view returns (bytes32) {
        (bool known, bytes memory hash) = HISTORY.staticcall(abi.encode(number));
        return known ? bytes32(hash) : bytes32(0);
    }

    function _payPrize(uint64 drawId, address recipient) private {
        Draw storage draw = _draws[drawId];
        if (draw.status != Status.COMPLETED) revert WrongStatus(draw.status);
        if (draw.paid) revert NothingToClaim();
        draw.paid = true;
        emit PrizePaid(drawId, draw.winner, draw.prize, _nextSeq());
        token.safeTransfer(recipient, draw.prize);
    }

    function _buy(uint64 drawId, uint256 count) private {
        Draw storage draw = _active(drawId);
        if (block.timestamp >= draw.drawTime) revert DrawTimePassed();
        if (count == 0) revert ZeroAmount();
        uint256 cost = count * draw.ticketPrice;
        uint96 sold = (draw.tickets + count).toUint96();
        draw.tickets = sold;
        _buyers[drawId].push(sold, uint160(msg.sender));
        _tickets[drawId][msg.sender] += count;
        emit TicketsIssued(drawId, msg.sender, count, _nextSeq());
        _addToPrize(draw, drawId, cost);
    }

    function _addToPrize(Draw storage draw, uint64 drawId, uint256 amount) private {
        draw.prize += amount;
        _paidIn[drawId][msg.sender] += amount;
        emit PrizeFunded(drawId, msg.sender, amount, _nextSeq());
        _pull(amount);
    }
}
