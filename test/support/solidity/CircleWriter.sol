// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {RotatingPool} from "../../../contracts/RotatingPool.sol";

/// @title A member that does as it is told
contract Puppet {
    RotatingPool private immutable _pool;

    constructor(RotatingPool pool) {
        _pool = pool;
        pool.token().approve(address(pool), type(uint256).max);
    }

    function join(uint64 id) external {
        _pool.join(id, 0);
    }

    function contribute(uint64 id) external {
        _pool.contribute(id, 0);
    }
}

/// @title Makes as many events of circles as it can for its gas, for tests
contract CircleWriter {
    RotatingPool private immutable _pool;
    Puppet[] public puppets;

    constructor(RotatingPool pool, uint256 count) {
        _pool = pool;
        for (uint256 i; i < count; ++i) puppets.push(new Puppet(pool));
    }

    function open(uint128 contribution, uint128 collateral) external {
        address[] memory members = new address[](puppets.length);
        for (uint256 i; i < members.length; ++i) members[i] = address(puppets[i]);
        _pool.openCircle(bytes16(0), contribution, collateral, 1 hours, uint64(block.timestamp + 1 days), members);
    }

    function joins(uint64 id) external {
        for (uint256 i; i < puppets.length; ++i) puppets[i].join(id);
    }

    function contributions(uint64 id) external {
        for (uint256 i; i < puppets.length; ++i) puppets[i].contribute(id);
    }

    function end(uint64 id) external {
        _pool.endRound(id);
    }
}
