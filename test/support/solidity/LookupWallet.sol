// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A wallet whose answer is elsewhere (EIP-3668): a client that follows it sends requests to an address of its choice.
contract LookupWallet {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    string private url;

    constructor(string memory url_) {
        url = url_;
    }

    function setUrl(string calldata url_) external {
        url = url_;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        string[] memory urls = new string[](3);
        urls[0] = urls[1] = urls[2] = url;
        revert OffchainLookup(address(this), urls, msg.data, this.answer.selector, '');
    }

    /// What a lookup that succeeded would be called back with.
    function answer(bytes calldata, bytes calldata) external pure returns (bytes4) {
        return 0x1626ba7e;
    }
}
