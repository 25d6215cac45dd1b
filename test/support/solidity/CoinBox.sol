// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// Holds the chain's own coin. It has a smallest deposit that it does not name.
contract CoinBox {
    mapping(address account => uint256) public held;

    event PutIn(address indexed account, uint256 amount);
    event TookOut(address indexed account, uint256 amount);

    function putIn() external payable {
        require(msg.value >= 100, "too little");
        held[msg.sender] += msg.value;
        emit PutIn(msg.sender, msg.value);
    }

    function takeOut(uint256 amount) external {
        held[msg.sender] -= amount;
        emit TookOut(msg.sender, amount);
        (bool sent, ) = msg.sender.call{value: amount}("");
        require(sent, "not taken");
    }
}
