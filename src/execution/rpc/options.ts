export interface RpcOptions {
  /** As web3_clientVersion reports it. */
  clientVersion: string
  networkId: bigint
  datadir: string
  /** Keep transactions in the local pool; with a sequencer only on demand (`--rollup.enabletxpooladmission`). */
  admitToPool: boolean
  /** Most gas that eth_call and eth_estimateGas may use; 0 = no limit (`--rpc.gascap`). */
  callGasCap: bigint
  /** Time that a call, an estimate or a trace may take; 0 = as long as its request (`--rpc.evmtimeout`). */
  evmTimeoutMs: number
  /** Most wei that a transaction sent by RPC may offer as fee; 0 = no limit (`--rpc.txfeecap`). */
  txFeeCapWei: bigint
  /** Lets transactions without EIP-155 replay protection in (`--rpc.allow-unprotected-txs`). */
  allowUnprotected: boolean
  /**
   * Storage look-ups a second of eth_sendRawTransactionConditional (`--rollup.sequencertxconditionalcostratelimit`);
   * undefined = the method is not served.
   */
  conditionalLookupsPerSecond?: number | undefined
  /** `--gpo.minsuggestedpriorityfee`. */
  minSuggestedTipWei: bigint
  /** `--gpo.maxprice`. */
  maxSuggestedTipWei: bigint
  /** Blocks that one eth_getLogs may span. */
  maxLogRangeBlocks: number
  /** Logs that one eth_getLogs may return. */
  maxLogs: number
  /** Characters that the answer of one eth_getLogs may have, about. */
  maxLogCharacters: number
}

/** Defaults as op-geth's where it has one. */
export const DEFAULT_RPC_OPTIONS = {
  admitToPool: true,
  callGasCap: 50_000_000n,
  evmTimeoutMs: 5_000,
  txFeeCapWei: 10n ** 18n,
  allowUnprotected: false,
  minSuggestedTipWei: 1_000_000n,
  maxSuggestedTipWei: 500_000_000_000n,
  maxLogRangeBlocks: 10_000,
  maxLogs: 20_000,
  maxLogCharacters: 25_000_000,
} as const
