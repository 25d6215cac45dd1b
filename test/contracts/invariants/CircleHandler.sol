// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {RotatingPool} from "contracts/RotatingPool.sol";
import {TestToken} from "contracts/TestToken.sol";
import {CircleModel} from "./CircleModel.sol";
import {Vm, vm} from "./Vm.sol";

/// @title What members of circles do
/// @notice As `Handler`: every call goes through if and only if the model says that it must.
contract CircleHandler {
    uint256 private constant MINIMUM = 1000;
    uint256 public constant SUPPLY = 2 ** 110;

    RotatingPool public immutable pool;
    TestToken public immutable token;
    CircleModel public immutable model;
    address[] public accounts;

    string public fault;
    uint64 public seq;
    uint256 public donated;
    /// What an account's tokens rise and fall by, as the events say.
    mapping(address account => int256) public flow;
    mapping(bytes4 selector => uint256) public gasOf;

    constructor() {
        token = new TestToken();
        model = new CircleModel(MINIMUM);
        bytes memory code = bytes.concat(vm.envBytes("POOL_CODE"), abi.encode(token, MINIMUM));
        address created;
        assembly {
            created := create(0, add(code, 32), mload(code))
        }
        pool = RotatingPool(created);
        for (uint160 i = 1; i <= 5; ++i) {
            address account = address(i * 0x1111111111);
            accounts.push(account);
            token.mint(account, SUPPLY);
            vm.prank(account);
            token.approve(created, type(uint256).max);
        }
        vm.recordLogs();
    }

    function open(uint256 who, uint256 size, uint256 pledge, uint256 time, uint256 order) external {
        CircleModel.Terms memory terms;
        terms.organiser = _account(who);
        terms.contribution = size % 8 == 0 ? MINIMUM - 1 + size % 3 : MINIMUM + size % 1e20;
        // None, whole contributions, or some units more or less.
        terms.collateral = (pledge % 5) * terms.contribution;
        if (pledge % 3 == 0) terms.collateral += (pledge >> 16) % terms.contribution;
        terms.period = time % 16 == 0 ? time % 400 days : 1 hours + time % 3 days;
        terms.joinBy = block.timestamp + (size % 16 == 1 ? time % 400 days : 1 + time % 3 days);
        terms.members = new address[](order % 16 == 0 ? 1 : 2 + order % 3);
        for (uint256 i; i < terms.members.length; ++i) terms.members[i] = accounts[(who % 5 + i) % 5];
        if (order % 32 == 1) terms.members[1] = terms.members[0];
        if (order % 32 == 2) terms.members[1] = address(0);
        bytes memory data = abi.encodeCall(
            pool.openCircle,
            (
                bytes16(uint128(1 + order % 2)),
                uint128(terms.contribution),
                uint128(terms.collateral),
                uint32(terms.period),
                uint64(terms.joinBy),
                terms.members
            )
        );
        _expect(_call(terms.organiser, data), model.open(terms), "a circle that cannot be opened, or must not be");
    }

    function join(uint256 who, uint256 which) external {
        _join(_circle(which), _account(who));
    }

    /// @notice All members, so that circles start.
    function joinAll(uint256 which) external {
        uint64 id = _circle(which);
        address[] memory members = model.termsOf(id).members;
        for (uint256 i; i < members.length; ++i) _join(id, members[i]);
    }

    function contribute(uint256 who, uint256 which) external {
        _contribute(_circle(which), _account(who));
    }

    /// @notice Most or all members.
    function contributeAll(uint256 which, uint256 without) external {
        uint64 id = _circle(which);
        address[] memory members = model.termsOf(id).members;
        for (uint256 i; i < members.length; ++i) if (i != without % 8) _contribute(id, members[i]);
    }

    function end(uint256 who, uint256 which) external {
        uint64 id = _circle(which);
        bool done = _call(_account(who), abi.encodeCall(pool.endRound, (id)));
        _expect(done, model.endRound(id), "a round that cannot be ended, or must not be");
    }

    function cancel(uint256 who, uint256 which) external {
        uint64 id = _circle(which);
        // The organiser may at most times, so he seldom does.
        address account = _account(who);
        if (who % 4 != 0 && account == model.termsOf(id).organiser) return;
        bool done = _call(account, abi.encodeCall(pool.cancelCircle, (id)));
        _expect(done, model.cancel(id, account), "a circle that cannot be cancelled, or must not be");
    }

    function claimPayout(uint256 who, uint256 which) external {
        _claimPayout(_circle(which), _account(who));
    }

    function claimRefund(uint256 who, uint256 which) external {
        _claimRefund(_circle(which), _account(who));
    }

    function donate(uint256 who, uint256 size) external {
        uint256 amount = size % 1e18;
        vm.prank(_account(who));
        token.transfer(address(pool), amount);
        vm.getRecordedLogs();
        donated += amount;
        flow[_account(who)] -= int256(amount);
    }

    function wait(uint256 size) external {
        uint24[6] memory spans = [1, 12, 1 hours, 1 hours, 1 days, 30 days];
        vm.warp(block.timestamp + spans[size % 6]);
    }

    /// @notice To the last second or the first one after it.
    function waitForCircle(uint256 which, uint256 size) external {
        uint64 id = _circle(which);
        bool joins = model.status(id) == RotatingPool.Status.JOINING;
        uint256 time = (joins ? model.termsOf(id).joinBy + 1 : model.roundEnd(id)) - (size % 3 == 0 ? 1 : 0);
        if (time > block.timestamp && time < block.timestamp + 400 days) vm.warp(time);
    }

    /// @notice Everything ends, and everybody takes out all that is his.
    function takeAll() external {
        for (uint64 id = 1; id <= model.circles(); ++id) {
            if (model.status(id) == RotatingPool.Status.JOINING) {
                address organiser = model.termsOf(id).organiser;
                _expect(_call(organiser, abi.encodeCall(pool.cancelCircle, (id))), model.cancel(id, organiser), "cancel");
            }
            while (model.status(id) == RotatingPool.Status.RUNNING) {
                if (model.roundEnd(id) > block.timestamp) vm.warp(model.roundEnd(id));
                bool done = _call(accounts[4], abi.encodeCall(pool.endRound, (id)));
                _expect(done, model.endRound(id), "a round that cannot be ended, or must not be");
                if (!done) return;
            }
            for (uint256 i; i < accounts.length; ++i) {
                _claimPayout(id, accounts[i]);
                _claimRefund(id, accounts[i]);
            }
        }
    }

    function size() external view returns (uint256) {
        return accounts.length;
    }

    function _join(uint64 id, address account) private {
        bool done = _call(account, abi.encodeCall(pool.join, (id, bytes16(0))));
        _expect(done, model.join(id, account), "somebody cannot join, or must not");
    }

    function _contribute(uint64 id, address account) private {
        bool done = _call(account, abi.encodeCall(pool.contribute, (id, bytes16(0))));
        _expect(done, model.contribute(id, account), "a contribution that failed, or that must fail");
    }

    function _claimPayout(uint64 id, address account) private {
        bool done = _call(account, abi.encodeCall(pool.claimPayout, (id, bytes16(0))));
        _expect(done, model.claimPayout(id, account), "a payout that failed, or twice");
    }

    function _claimRefund(uint64 id, address account) private {
        bool done = _call(account, abi.encodeCall(pool.claimRefund, (id, bytes16(0))));
        _expect(done, model.claimRefund(id, account), "a refund that failed, or twice");
    }

    function _call(address from, bytes memory data) private returns (bool done) {
        address to = address(pool);
        vm.prank(from);
        uint256 left = gasleft();
        (done,) = to.call(data);
        uint256 used = left - gasleft();
        if (done && used > gasOf[bytes4(data)]) gasOf[bytes4(data)] = used;
        // Those of a call that failed are recorded too.
        Vm.Log[] memory logs = vm.getRecordedLogs();
        if (done) _read(logs, from);
    }

    function _read(Vm.Log[] memory logs, address from) private {
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].emitter != address(pool)) continue;
            (bytes32 kind, bytes memory data) = (logs[i].topics[0], logs[i].data);
            if (_word(data, data.length) != ++seq) _fail("a number is missing, or there twice");
            bool isPaid = kind == RotatingPool.Joined.selector || kind == RotatingPool.Contributed.selector;
            bool isTaken = kind == RotatingPool.PaidOut.selector || kind == RotatingPool.CircleRefunded.selector;
            if (!isPaid && !isTaken) continue;
            if (address(uint160(uint256(logs[i].topics[3]))) != from) _fail("somebody else's money");
            // The last but the number.
            int256 amount = int256(_word(data, data.length - 32));
            flow[from] += isPaid ? -amount : amount;
        }
    }

    function _word(bytes memory data, uint256 offset) private pure returns (uint256 word) {
        assembly {
            word := mload(add(data, offset))
        }
    }

    function _account(uint256 seed) private view returns (address) {
        return accounts[seed % accounts.length];
    }

    /// @dev Mostly one of the latest three, seldom one that is not there.
    function _circle(uint256 seed) private view returns (uint64) {
        uint256 last = pool.circles();
        if (seed % 16 == 0) return uint64((seed / 16) % (last + 2));
        return uint64(last - (last < 3 ? (last == 0 ? 0 : (seed / 16) % last) : (seed / 16) % 3));
    }

    function _expect(bool done, bool due, string memory reason) private {
        if (done != due) _fail(reason);
    }

    function _fail(string memory reason) private {
        if (bytes(fault).length == 0) fault = reason;
    }
}
