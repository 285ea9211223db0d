export interface RpcOptions {
  /** Reported by web3_clientVersion. */
  clientVersion: string
  networkId: bigint
  datadir: string
  /** Keep transactions in the local pool. With a sequencer only on request (`--rollup.enabletxpooladmission`). */
  admitToPool: boolean
  /** Most gas of eth_call and eth_estimateGas; 0 = no limit (`--rpc.gascap`). */
  callGasCap: bigint
  /** Time limit of a call, an estimate or a trace, not of a witness; 0 = as long as its request (`--rpc.evmtimeout`). */
  evmTimeoutMs: number
  /** Highest fee of a transaction sent by RPC, in wei; 0 = no limit (`--rpc.txfeecap`). */
  txFeeCapWei: bigint
  /** Accepts transactions without EIP-155 replay protection (`--rpc.allow-unprotected-txs`). */
  allowUnprotected: boolean
  /**
   * Storage lookups per second of eth_sendRawTransactionConditional (`--rollup.sequencertxconditionalcostratelimit`).
   * Undefined: the method is not served.
   */
  conditionalLookupsPerSecond?: number | undefined
  /** `--gpo.minsuggestedpriorityfee`. */
  minSuggestedTipWei: bigint
  /** `--gpo.maxprice`. */
  maxSuggestedTipWei: bigint
  /** Longest range of one eth_getLogs: its last block less its first (`--rpc.rangelimit`). */
  maxLogRangeBlocks: number
  /** Most logs of one eth_getLogs. One block has no limit. */
  maxLogs: number
  /** Estimated limit of the characters in an answer of eth_getLogs. One block has no limit. */
  maxLogCharacters: number
}

/** op-geth's defaults where it has one. */
export const DEFAULT_RPC_OPTIONS = {
  admitToPool: true,
  callGasCap: 50_000_000n,
  evmTimeoutMs: 5_000,
  txFeeCapWei: 10n ** 18n,
  allowUnprotected: false,
  minSuggestedTipWei: 1_000_000n,
  maxSuggestedTipWei: 500_000_000_000n,
  maxLogRangeBlocks: 100_000,
  maxLogs: 20_000,
  maxLogCharacters: 25_000_000,
} as const
