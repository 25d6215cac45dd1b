// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A draw that is always due, whatever is done for it: no honest lottery is like this.
contract EndlessDraw {
    uint64 public constant currentDraw = 1;

    function drawOf(uint64) external pure returns (uint8 status, uint64 drawTime, uint64 pickBlock, uint96 tickets) {
        return (2, 1, 1, 1);
    }

    function completeDraw(uint64) external {}
}
