import type { Hex } from '../../lib/hex.ts'

/**
 * First byte of a batcher transaction or blob that carries frames (specs: derivation, "Batcher transaction format").
 */
export const DERIVATION_VERSION_0 = 0
/** Maximum data of one frame (specs: derivation, "Frame format"). */
export const MAX_FRAME_DATA_BYTES = 1_000_000
/** Bytes of a frame without its data: id 16, number 2, length 4, is_last 1. */
export const FRAME_ENCODING_OVERHEAD_BYTES = 23
/** Added for each frame when the size of a channel is computed (specs: derivation, "Channel bank"). */
export const FRAME_ACCOUNTING_OVERHEAD_BYTES = 200
/**
 * Limit for blocks, for transactions in a block, and for all transactions of a span batch (specs: delta/span-batches).
 */
export const MAX_SPAN_BATCH_ELEMENTS = 10_000_000

/** Sender of L1-info deposits and of some upgrade deposits (specs: deposits, "L1 attributes depositor account"). */
export const DEPOSITOR_ACCOUNT: Hex = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'
export const L1_BLOCK_ADDRESS: Hex = '0x4200000000000000000000000000000000000015'
export const GAS_PRICE_ORACLE_ADDRESS: Hex = '0x420000000000000000000000000000000000000f'
export const MESSAGE_PASSER_ADDRESS: Hex = '0x4200000000000000000000000000000000000016'
export const SEQUENCER_FEE_VAULT_ADDRESS: Hex = '0x4200000000000000000000000000000000000011'
export const BASE_FEE_VAULT_ADDRESS: Hex = '0x4200000000000000000000000000000000000019'
export const L1_FEE_VAULT_ADDRESS: Hex = '0x420000000000000000000000000000000000001a'
export const OPERATOR_FEE_VAULT_ADDRESS: Hex = '0x420000000000000000000000000000000000001b'
export const ETH_LIQUIDITY_ADDRESS: Hex = '0x4200000000000000000000000000000000000025'

/** Root of an empty trie: keccak256(0x80). */
export const EMPTY_TRIE_ROOT: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
/** keccak256(rlp([])): the uncles hash of every block after the Merge. */
export const EMPTY_UNCLES_HASH: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
/** sha256 of empty input: the requests hash (EIP-7685) of every OP Stack block since Isthmus. */
export const EMPTY_REQUESTS_HASH: Hex = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
