// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A wallet that is a contract: whoever sends the transaction, the wallet is who acts.
contract ContractWallet {
    function execute(address to, bytes calldata data) external {
        (bool done,) = to.call(data);
        require(done, "refused");
    }
}
