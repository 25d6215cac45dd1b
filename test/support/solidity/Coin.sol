// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Money of as many decimals as the test wants.
contract Coin is ERC20 {
    uint8 private immutable places;

    constructor(string memory symbol, uint8 places_) ERC20(symbol, symbol) {
        places = places_;
    }

    function decimals() public view override returns (uint8) {
        return places;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
