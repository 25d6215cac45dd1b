// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {LotteryPool} from "contracts/LotteryPool.sol";
import {TestToken} from "contracts/TestToken.sol";
import {Model} from "./Model.sol";
import {Vm, vm} from "./Vm.sol";

/// @title What people do
/// @notice Forge calls these in any order. What goes in are seeds: most of what they become makes sense, and some does
/// not. A call that has to succeed and does not is a fault, because it keeps somebody from his money.
contract Handler {
    uint256 private constant MINIMUM = 1000;

    LotteryPool public immutable pool;
    TestToken public immutable token;
    Model public immutable model;
    bytes16[2] public ids = [bytes16(uint128(1)), bytes16(uint128(2))];
    /// The first owns the contract at first, and the last has more than all tokens that the contract is made for.
    address[] public accounts;

    string public fault;
    /// Tokens that came without a call.
    uint256 public donated;
    mapping(address account => uint256) public donatedBy;
    mapping(bytes4 selector => uint256) public gasOf;

    constructor() {
        // The contract wants to see a block's hash.
        vm.roll(1000);
        token = new TestToken();
        for (uint160 i = 1; i <= 5; ++i) accounts.push(address(i * 0x1111111111));
        bytes memory arguments = abi.encode(token, accounts[0], MINIMUM);
        bytes memory code = bytes.concat(vm.envBytes("POOL_CODE"), arguments);
        address created;
        assembly {
            created := create(0, add(code, 32), mload(code))
        }
        pool = LotteryPool(created);
        model = new Model(pool, ids, accounts);
        for (uint256 i; i < accounts.length; ++i) {
            token.mint(accounts[i], supplyOf(i));
            vm.prank(accounts[i]);
            token.approve(created, type(uint256).max);
        }
        vm.recordLogs();
    }

    function deposit(uint256 who, uint256 where, uint256 size) external {
        address account = _account(who);
        uint256 amount = _amount(size, token.balanceOf(account));
        bool done = _call(account, abi.encodeCall(pool.deposit, (_id(where), bytes16(uint128(size)), amount)));
        if (done != amount >= MINIMUM) _fail("a deposit failed, or one that must fail");
    }

    function depositMany(uint256 who, uint256 size, uint256 other, bool swapped) external {
        address account = _account(who);
        bytes16[] memory poolIds = new bytes16[](2);
        bytes16[] memory refs = new bytes16[](2);
        uint256[] memory amounts = new uint256[](2);
        (poolIds[0], poolIds[1]) = swapped ? (ids[1], ids[0]) : (ids[0], ids[1]);
        uint256 held = token.balanceOf(account) / 2;
        (amounts[0], amounts[1]) = (_amount(size, held), _amount(other, held));
        bool done = _call(account, abi.encodeCall(pool.depositMany, (poolIds, refs, amounts)));
        bool due = !swapped && amounts[0] >= MINIMUM && amounts[1] >= MINIMUM;
        if (done != due) _fail(due ? "deposits failed" : "deposits that must fail");
    }

    function depositTwice(uint256 who, uint256 where, uint256 size) external {
        bytes16[] memory poolIds = new bytes16[](2);
        uint256[] memory amounts = new uint256[](2);
        (poolIds[0], poolIds[1]) = (_id(where), _id(where));
        amounts[0] = amounts[1] = _amount(size, token.balanceOf(_account(who)) / 2);
        _mustFail(_account(who), abi.encodeCall(pool.depositMany, (poolIds, new bytes16[](2), amounts)));
    }

    function withdraw(uint256 who, uint256 where, uint256 size) external {
        address account = _account(who);
        uint256 held = pool.balanceOf(_id(where), account);
        uint256 amount = size % 3 == 0 ? held : _amount(size / 3, held);
        bool done = _call(account, abi.encodeCall(pool.withdraw, (_id(where), bytes16(0), amount)));
        bool due = amount <= held && amount > 0 && (amount >= MINIMUM || amount == held);
        if (done != due) _fail(due ? "a withdrawal failed" : "a withdrawal that must fail");
    }

    /// @notice Half of the times for all there is and a little more.
    function withdrawTooMuch(uint256 who, uint256 where, uint256 more) external {
        uint256 amount = pool.balanceOf(_id(where), _account(who)) + 1 + more % 2000;
        _mustFail(_account(who), abi.encodeCall(pool.withdraw, (_id(where), bytes16(0), amount)));
    }

    function claim(uint256 who, uint256 where) external {
        bool due = pool.claimableOf(_id(where), _account(who)) > 0;
        bool done = _call(_account(who), abi.encodeCall(pool.claimYield, (_id(where), bytes16(0))));
        if (done != due) _fail(due ? "a claim failed" : "a claim of nothing");
    }

    function startCompounding(uint256 who, uint256 where) external {
        bool due = !model.compounds(_id(where), _account(who));
        if (_call(_account(who), abi.encodeCall(pool.startCompounding, (_id(where)))) != due) _fail("a start");
    }

    /// @notice Half as often as they start, so that there are some.
    function stopCompounding(uint256 who, uint256 where) external {
        if (who % 64 >= 32) return;
        bool due = model.compounds(_id(where), _account(who));
        if (_call(_account(who), abi.encodeCall(pool.stopCompounding, (_id(where)))) != due) _fail("a stop");
    }

    /// @notice By anyone, for anyone, also twice in a call.
    function compound(uint256 who, uint256 where, uint256 others) external {
        bytes16[] memory poolIds = new bytes16[](4);
        address[] memory whose = new address[](4);
        uint256[] memory amounts = new uint256[](4);
        bool due;
        for (uint256 i; i < 4; ++i) {
            (poolIds[i], whose[i]) = (_id(where >> i), _account(others >> (8 * i)));
            amounts[i] = pool.claimableOf(poolIds[i], whose[i]);
            if (!model.compounds(poolIds[i], whose[i]) || amounts[i] < MINIMUM) amounts[i] = 0;
            else due = true;
            if (pool.compoundableOf(poolIds[i], whose[i]) != amounts[i]) _fail("what can be paid in again");
        }
        if (_call(_account(who), abi.encodeCall(pool.compound, (poolIds, whose))) != due) {
            _fail(due ? "compounding failed" : "compounding that must fail");
        }
        for (uint256 i; i < 4; ++i) {
            if (amounts[i] > 0 && pool.claimableOf(poolIds[i], whose[i]) > 0) _fail("yield that was left out");
        }
    }

    function accrue(uint256 who, uint256 where, uint256 size) external {
        address account = _mostlyOwner(who);
        uint256 amount = _amount(size, token.balanceOf(account) / 1000);
        bytes memory data = abi.encodeCall(pool.accrueYield, (_id(where), amount, 500));
        if (account != pool.owner()) return _mustFail(account, data);
        bool due = amount > 0 && pool.totalWeightOf(_id(where)) > 0;
        if (_call(account, data) != due) _fail("yield that failed, or that must fail");
    }

    function openDraw(uint256 who, uint256 price, uint256 time) external {
        address account = _mostlyOwner(who);
        uint256 ticketPrice = _amount(price, 1e24);
        uint256 drawTime = block.timestamp + (time % 8 == 0 ? time % 400 days : time % 2 days);
        LotteryPool.Status last = pool.drawOf(pool.currentDraw()).status;
        bool done = _call(account, abi.encodeCall(pool.openDraw, (ticketPrice, uint64(drawTime))));
        bool due = account == pool.owner() && ticketPrice >= MINIMUM && drawTime > block.timestamp
            && drawTime <= block.timestamp + 366 days && last != LotteryPool.Status.ACTIVE
            && last != LotteryPool.Status.DRAWING;
        if (done != due) _fail("a draw that cannot be opened, or must not be");
    }

    function buy(uint256 who, uint256 count) external {
        _call(_account(who), abi.encodeCall(pool.buyTickets, (pool.currentDraw(), count % 5)));
    }

    function buyMany(uint256 who, uint256 count) external {
        _call(_account(who), abi.encodeCall(pool.buyTickets, (_draw(count % 16), _amount(count, 2 ** 60))));
    }

    function fund(uint256 who, uint256 size) external {
        uint256 amount = _amount(size, token.balanceOf(_account(who)) / 1000);
        _call(_account(who), abi.encodeCall(pool.fundPrize, (pool.currentDraw(), amount)));
    }

    function close(uint256 who) external {
        address account = _mostlyOwner(who);
        LotteryPool.Draw memory draw = pool.drawOf(pool.currentDraw());
        bool done = _call(account, abi.encodeCall(pool.closeDraw, (pool.currentDraw())));
        bool due = account == pool.owner() && draw.status == LotteryPool.Status.ACTIVE
            && block.timestamp >= draw.drawTime && draw.tickets > 0;
        if (done != due) _fail("a draw that cannot be closed, or must not be");
    }

    function complete(uint256 who, uint256 which) external {
        LotteryPool.Draw memory draw = pool.drawOf(_draw(which));
        bool done = _call(_account(who), abi.encodeCall(pool.completeDraw, (_draw(which))));
        bool due = draw.status == LotteryPool.Status.DRAWING && block.number > draw.pickBlock;
        if (done != due) _fail("a winner that cannot be picked, or must not be");
    }

    function cancel(uint256 who, uint256 which) external {
        LotteryPool.Draw memory draw = pool.drawOf(_draw(which));
        address account = who % 4 == 0 ? pool.owner() : _account(who);
        bool done = _call(account, abi.encodeCall(pool.cancelDraw, (_draw(which))));
        bool due = draw.status == LotteryPool.Status.ACTIVE
            && (account == pool.owner() || block.timestamp >= draw.drawTime + pool.GRACE());
        if (done != due) _fail("a draw that cannot be cancelled, or must not be");
    }

    function claimPrize(uint256 who, uint256 which) external {
        LotteryPool.Draw memory draw = pool.drawOf(_draw(which));
        bool done = _call(_account(who), abi.encodeCall(pool.claimPrize, (_draw(which))));
        bool due = draw.status == LotteryPool.Status.COMPLETED && !draw.paid;
        if (done != due) _fail("a prize that failed, or twice");
    }

    function claimPrizeTo(uint256 who, uint256 which, uint256 to) external {
        LotteryPool.Draw memory draw = pool.drawOf(_draw(which));
        address account = who % 4 == 0 ? _account(who / 4) : draw.winner;
        bool done = _call(account, abi.encodeCall(pool.claimPrizeTo, (_draw(which), _account(to))));
        bool due = draw.status == LotteryPool.Status.COMPLETED && !draw.paid && account == draw.winner;
        if (done != due) _fail("a prize that cannot be sent on, or must not be");
        if (done) model.passOn(draw.winner, _account(to), draw.prize);
    }

    function refund(uint256 who, uint256 which) external {
        bool due = pool.refundableOf(_draw(which), _account(who)) > 0;
        bool done = _call(_account(who), abi.encodeCall(pool.refund, (_draw(which))));
        if (done != due) _fail("a refund that failed, or twice");
    }

    function handOver(uint256 who, uint256 to) external {
        address account = _mostlyOwner(who);
        bool due = account == pool.owner();
        if (_call(account, abi.encodeCall(pool.transferOwnership, (_account(to)))) != due) _fail("an offer to own");
    }

    function accept(uint256 who) external {
        bool due = _account(who) == pool.pendingOwner();
        if (_call(_account(who), abi.encodeCall(pool.acceptOwnership, ())) != due) _fail("a new owner");
    }

    function donate(uint256 who, uint256 size) external {
        uint256 amount = _amount(size, token.balanceOf(_account(who)) / 1000);
        vm.prank(_account(who));
        token.transfer(address(pool), amount);
        donated += amount;
        donatedBy[_account(who)] += amount;
    }

    function wait(uint256 size) external {
        uint32[6] memory spans = [1, 12, 1 hours, 1 days, 30 days, 400 days];
        uint256 span = spans[size % 6];
        vm.warp(block.timestamp + span);
        vm.roll(block.number + (span > 3000 ? 250 : 1 + span / 12));
    }

    /// @notice To where something becomes possible for the draw, and no longer.
    function waitForDraw(uint256 size) external {
        LotteryPool.Draw memory draw = pool.drawOf(pool.currentDraw());
        if (draw.status == LotteryPool.Status.ACTIVE) {
            uint256 time = size % 2 == 0 ? draw.drawTime : draw.drawTime + pool.GRACE();
            time = size % 8 == 2 ? time - 1 : time;
            if (time > block.timestamp) vm.warp(time);
        } else if (draw.status == LotteryPool.Status.DRAWING) {
            uint256 number = draw.pickBlock + [0, 1, 1, 1, 256, 257][size % 6];
            if (number > block.number) vm.roll(number);
        }
    }

    /// @notice Everybody takes out all that is his. Only what nobody may take stays.
    function takeAll() external {
        uint64 last = pool.currentDraw();
        LotteryPool.Draw memory draw = pool.drawOf(last);
        // Now and then the draw comes to its end instead, as it seldom does by chance.
        if (draw.status == LotteryPool.Status.ACTIVE && draw.tickets > 0 && draw.tickets % 2 == 0) {
            if (block.timestamp < draw.drawTime) vm.warp(draw.drawTime);
            _mustDo(pool.owner(), abi.encodeCall(pool.closeDraw, (last)));
        } else if (draw.status == LotteryPool.Status.ACTIVE) {
            _mustDo(pool.owner(), abi.encodeCall(pool.cancelDraw, (last)));
        }
        draw = pool.drawOf(last);
        if (draw.status == LotteryPool.Status.DRAWING) {
            if (block.number > draw.pickBlock + 256) _mustDo(accounts[4], abi.encodeCall(pool.completeDraw, (last)));
            vm.roll(pool.drawOf(last).pickBlock + 1);
            _mustDo(accounts[4], abi.encodeCall(pool.completeDraw, (last)));
        }
        for (uint64 id = 1; id <= last; ++id) {
            draw = pool.drawOf(id);
            if (draw.status == LotteryPool.Status.COMPLETED && !draw.paid) {
                _mustDo(accounts[4], abi.encodeCall(pool.claimPrize, (id)));
            }
            for (uint256 i; i < accounts.length; ++i) {
                if (pool.refundableOf(id, accounts[i]) == 0) continue;
                _mustDo(accounts[i], abi.encodeCall(pool.refund, (id)));
            }
        }
        for (uint256 i; i < accounts.length; ++i) {
            for (uint256 p; p < ids.length; ++p) {
                uint256 held = pool.balanceOf(ids[p], accounts[i]);
                if (held > 0) _mustDo(accounts[i], abi.encodeCall(pool.withdraw, (ids[p], bytes16(0), held)));
                if (pool.claimableOf(ids[p], accounts[i]) == 0) continue;
                _mustDo(accounts[i], abi.encodeCall(pool.claimYield, (ids[p], bytes16(0))));
            }
        }
    }

    function size() external view returns (uint256) {
        return accounts.length;
    }

    /// @notice What the account of this number has at first.
    function supplyOf(uint256 number) public pure returns (uint256) {
        return number == 4 ? 2 ** 126 : 2 ** 87;
    }

    function _call(address from, bytes memory data) private returns (bool done) {
        address to = address(pool);
        address owner = pool.owner();
        vm.prank(from);
        uint256 left = gasleft();
        (done,) = to.call(data);
        uint256 used = left - gasleft();
        if (done && used > gasOf[bytes4(data)]) gasOf[bytes4(data)] = used;
        // Those of a call that failed are recorded too.
        Vm.Log[] memory logs = vm.getRecordedLogs();
        if (done) model.replay(logs, owner, from);
    }

    function _mustDo(address from, bytes memory data) private {
        if (!_call(from, data)) _fail("money that cannot be taken out");
    }

    function _mustFail(address from, bytes memory data) private {
        if (_call(from, data)) _fail("a call that must fail");
    }

    function _account(uint256 seed) private view returns (address) {
        return accounts[seed % 32 == 0 ? 4 : seed % 4];
    }

    function _mostlyOwner(uint256 seed) private view returns (address) {
        return seed % 8 == 0 ? _account(seed / 8) : pool.owner();
    }

    function _id(uint256 seed) private view returns (bytes16) {
        return ids[seed % ids.length];
    }

    /// @dev Mostly the current draw, else an older one, or none.
    function _draw(uint256 seed) private view returns (uint64) {
        uint64 last = pool.currentDraw();
        return seed % 4 != 0 ? last : uint64((seed / 4) % (uint256(last) + 2));
    }

    /// @dev Nothing, a unit, about the minimum, all, or of any magnitude.
    function _amount(uint256 seed, uint256 most) private pure returns (uint256 amount) {
        uint256 kind = seed % 8;
        seed /= 8;
        if (kind == 0) amount = seed % 3;
        else if (kind == 1) amount = MINIMUM - 1 + seed % 3;
        else if (kind == 2) amount = most;
        else amount = (most >> (seed % 120)) / 3 * 2 + seed % 5000;
        if (amount > most) amount = most;
    }

    function _fail(string memory reason) private {
        if (bytes(fault).length == 0) fault = reason;
    }
}
