// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that refuses accounts, for tests
contract PickyToken is ERC20("Picky", "PICK") {
    enum Answer {
        PAYS,
        REVERTS,
        SAYS_NO
    }

    /// @notice What becomes of a payment to the account.
    mapping(address account => Answer) public answers;

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function treat(address account, Answer answer) external {
        answers[account] = answer;
    }

    function transfer(address to, uint256 value) public override returns (bool) {
        require(answers[to] != Answer.REVERTS, "blocked");
        if (answers[to] == Answer.SAYS_NO) return false;
        return super.transfer(to, value);
    }

    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        require(answers[from] != Answer.REVERTS, "blocked");
        if (answers[from] == Answer.SAYS_NO) return false;
        return super.transferFrom(from, to, value);
    }
}
