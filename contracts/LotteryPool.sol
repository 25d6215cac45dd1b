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
/// @dev Randomness: the hash of the block after the one that closes the draw decides the winner. Nobody knows the hash
/// when the last ticket is sold. But the builder of that block can drop it and try again for the price of a block, and
/// on a chain with a single sequencer the sequencer decides. Prizes worth more than that need a VRF.
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
        /// The block whose hash picks the winner; zero until the draw is closed.
        uint64 pickBlock;
        uint96 tickets;
        uint256 ticketPrice;
        uint256 prize;
        address winner;
        bool paid;
    }

    /// @notice After this time past its drawTime anyone may cancel a draw that the owner left open.
    uint256 public constant GRACE = 7 days;

    /// @dev The number of recent blocks whose hash the EVM knows (BLOCKHASH opcode).
    uint256 private constant HASH_WINDOW = 256;

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
    error TooEarly();
    error NoTickets();
    error HashUnavailable();
    error NotAllowed();
    error NothingToRefund();

    constructor(IERC20 token_, address owner_, uint256 minimumDeposit_)
        SavingsPool(token_, owner_, minimumDeposit_)
    {}

    /// @notice Opens the next draw, once the one before is completed or cancelled.
    function openDraw(uint256 ticketPrice, uint64 drawTime) external onlyOwner nonReentrant returns (uint64 drawId) {
        Status last = _draws[currentDraw].status;
        if (last == Status.ACTIVE || last == Status.DRAWING) revert WrongStatus(last);
        if (ticketPrice == 0) revert ZeroAmount();
        if (drawTime <= block.timestamp) revert DrawTimePassed();
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
        draw.pickBlock = uint64(block.number + 1);
        emit DrawClosed(drawId, _nextSeq());
    }

    /// @notice Picks the winner, from the second block after closing. Anyone may call, so that no one can hold back a
    /// result until its hash is out of reach.
    function completeDraw(uint64 drawId) external nonReentrant {
        Draw storage draw = _draws[drawId];
        if (draw.status != Status.DRAWING) revert WrongStatus(draw.status);
        bytes32 entropy = blockhash(draw.pickBlock);
        if (entropy == 0) revert HashUnavailable();
        uint256 ticket = uint256(keccak256(abi.encode(entropy, address(this), drawId))) % draw.tickets;
        address winner = address(_buyers[drawId].lowerLookup(uint96(ticket + 1)));
        draw.status = Status.COMPLETED;
        draw.winner = winner;
        emit DrawCompleted(drawId, winner, draw.prize, _nextSeq());
    }

    /// @notice Pays the winner. Anyone may call.
    /// @dev Separate from completeDraw: a token that refuses the winner must not prevent a draw from ending.
    function claimPrize(uint64 drawId) external nonReentrant {
        Draw storage draw = _draws[drawId];
        if (draw.status != Status.COMPLETED) revert WrongStatus(draw.status);
        if (draw.paid) revert NothingToClaim();
        draw.paid = true;
        emit PrizePaid(drawId, draw.winner, draw.prize, _nextSeq());
        token.safeTransfer(draw.winner, draw.prize);
    }

    /// @notice Cancels a draw: the owner while it is open, anyone once the owner is GRACE late, or when the hash that
    /// picks the winner is out of reach. Nobody can cancel while a winner can still be picked.
    function cancelDraw(uint64 drawId) external nonReentrant {
        Draw storage draw = _draws[drawId];
        if (draw.status == Status.ACTIVE) {
            if (msg.sender != owner() && block.timestamp < draw.drawTime + GRACE) revert NotAllowed();
        } else if (draw.status == Status.DRAWING) {
            if (block.number <= draw.pickBlock + HASH_WINDOW) revert NotAllowed();
        } else {
            revert WrongStatus(draw.status);
        }
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
