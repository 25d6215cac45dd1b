// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Rewarding} from "./Rewarding.sol";

// Contracts as others have them, for development: each knows its pools in a way of its own, and none numbers its events.

/// @title Savings of accounts
/// @notice Knows no pools: an account has its own.
contract AccountSavings is Rewarding {
    mapping(address account => uint256) public savings;
    mapping(address account => uint256) public rewards;

    event Saved(address indexed account, uint256 amount);
    event Unsaved(address indexed account, uint256 amount);
    event RewardPaid(address indexed account, uint256 amount, uint256 fee);

    constructor(IERC20 asset_) Rewarding(asset_) {}

    function save(uint256 amount) external {
        _take(amount);
        savings[msg.sender] += amount;
        emit Saved(msg.sender, amount);
    }

    function unsave(uint256 amount) external {
        savings[msg.sender] -= amount;
        _give(amount);
        emit Unsaved(msg.sender, amount);
    }

    function reward(address account, uint256 amount) external {
        _take(amount);
        rewards[account] += amount;
    }

    function takeReward() external {
        uint256 owed = rewards[msg.sender];
        rewards[msg.sender] = 0;
        (uint256 amount, uint256 fee) = _pay(owed);
        emit RewardPaid(msg.sender, amount, fee);
    }
}

/// @title Clubs with numbers
/// @notice Whoever pays in is a member.
contract Clubs is Rewarding {
    uint256 public count;
    mapping(uint256 club => mapping(address member => uint256)) public shares;
    mapping(uint256 club => mapping(address member => uint256)) public rewards;

    event PoolCreated(uint256 indexed id, address indexed creator, string name);
    event MemberJoined(uint256 indexed id, address indexed member);
    event Paid(uint256 indexed id, address indexed member, uint256 amount);
    event TakenOut(uint256 indexed id, address indexed member, uint256 amount);
    event YieldPaid(uint256 indexed id, address indexed member, uint256 amount, uint256 fee);

    constructor(IERC20 asset_) Rewarding(asset_) {}

    function createPool(string calldata name) external {
        emit PoolCreated(++count, msg.sender, name);
    }

    function pay(uint256 id, uint256 amount) external {
        _take(amount);
        if (shares[id][msg.sender] == 0) emit MemberJoined(id, msg.sender);
        shares[id][msg.sender] += amount;
        emit Paid(id, msg.sender, amount);
    }

    function takeOut(uint256 id, uint256 amount) public {
        shares[id][msg.sender] -= amount;
        _give(amount);
        emit TakenOut(id, msg.sender, amount);
    }

    function takeAll(uint256 id) external {
        takeOut(id, shares[id][msg.sender]);
    }

    function reward(uint256 id, address member, uint256 amount) external {
        _take(amount);
        rewards[id][member] += amount;
    }

    function takeYield(uint256 id) external {
        uint256 owed = rewards[id][msg.sender];
        rewards[id][msg.sender] = 0;
        (uint256 amount, uint256 fee) = _pay(owed);
        emit YieldPaid(id, msg.sender, amount, fee);
    }
}

/// @title One pool
/// @notice Whoever pays in is in it.
contract Kitty is Rewarding {
    uint256 public total;
    mapping(address member => uint256) public shareOf;
    mapping(address member => uint256) public rewards;

    event PutIn(address indexed member, uint256 amount);
    event TookOut(address indexed member, uint256 amount);
    event Rewarded(address indexed member, uint256 amount, uint256 fee);

    constructor(IERC20 asset_) Rewarding(asset_) {}

    function putIn(uint256 amount) external {
        _take(amount);
        total += amount;
        shareOf[msg.sender] += amount;
        emit PutIn(msg.sender, amount);
    }

    function takeOut(uint256 amount) external {
        total -= amount;
        shareOf[msg.sender] -= amount;
        _give(amount);
        emit TookOut(msg.sender, amount);
    }

    function reward(address member, uint256 amount) external {
        _take(amount);
        rewards[member] += amount;
    }

    function takeReward() external {
        uint256 owed = rewards[msg.sender];
        rewards[msg.sender] = 0;
        (uint256 amount, uint256 fee) = _pay(owed);
        emit Rewarded(msg.sender, amount, fee);
    }
}
