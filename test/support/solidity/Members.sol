// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Keeps books only. One event says what a member takes out and what that has earned, or what was earned and stays.
contract Members {
    struct Member {
        uint64 since;
        uint256 amount;
    }

    address public immutable token;
    mapping(address account => Member) public members;

    event Came(address indexed account, uint256 amount);
    event Left(address indexed account, uint256 amount, uint256 reward);
    event Kept(address indexed account, uint256 reward);
    event Paid(address indexed account, uint256 amount, uint256 remaining);

    constructor(address token_) {
        token = token_;
    }

    function come(uint256 amount) external {
        members[msg.sender] = Member(uint64(block.timestamp), members[msg.sender].amount + amount);
        emit Came(msg.sender, amount);
    }

    function takeOut(uint256 amount, uint256 reward) external {
        members[msg.sender].amount -= amount;
        emit Left(msg.sender, amount, reward);
    }

    function grow(uint256 earned) external {
        members[msg.sender].amount += earned;
    }

    /// What a member earns without an event is paid out with the rest.
    function pay(uint256 amount, uint256 earned) external {
        members[msg.sender].amount += earned;
        members[msg.sender].amount -= amount;
        emit Paid(msg.sender, amount, members[msg.sender].amount);
    }

    function keep(uint256 reward) external {
        members[msg.sender].amount += reward;
        emit Kept(msg.sender, reward);
    }
}
