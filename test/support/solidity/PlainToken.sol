// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token without permits that pays whom it likes, for tests
contract PlainToken is ERC20("Plain", "PLAIN") {
    address public refused;

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @notice From now on this account gets nothing.
    function refuse(address account) external {
        refused = account;
    }

    function _update(address from, address to, uint256 value) internal override {
        require(to == address(0) || to != refused, "refused");
        super._update(from, to, value);
    }
}
