import type { Hex } from '../../lib/hex.ts'
import {
  encodeDepositTx,
  l1InfoDepositTx,
  parseRollupConfig,
  SEQUENCER_FEE_VAULT_ADDRESS,
  ZERO_HASH,
} from '../../rollup/protocol/index.ts'
import type { Chain } from '../chain/opChain.ts'
import { madeUpL1Block } from './l1Block.ts'
import { DEV_ADDRESSES, DEV_KEYS, signTransaction } from './signTransaction.ts'

export interface ExtendOptions {
  /** Transfers of the first dev account after the L1-info deposit. */
  transfers?: number
  /** Makes blocks on the same parent differ. */
  salt?: bigint
}

/** Builds a block on `parentHash` for a Holocene recording's chain, and imports it. The head does not move. */
export async function extendChain(
  chain: Chain,
  rollupJson: unknown,
  parentHash: Hex,
  { transfers = 1, salt = 0n }: ExtendOptions = {},
): Promise<Hex> {
  const config = parseRollupConfig(rollupJson)
  const parent = await chain.headerByHash(parentHash)
  const account = await (await chain.stateAt(parentHash))?.account(DEV_ADDRESSES[0])
  if (parent === undefined) throw new Error(`parent ${parentHash} is not known`)
  const timestamp = parent.timestamp + config.blockTime
  const l1Block = madeUpL1Block(config, timestamp)
  const nonce = Number(account?.nonce ?? 0n)
  const transactions = [encodeDepositTx(l1InfoDepositTx(config, config.genesis.systemConfig, 0, l1Block, timestamp))]
  for (let index = 0; index < transfers; index++) {
    const to: Hex = `0x${(nonce + index + 1).toString(16).padStart(40, '0')}`
    transactions.push(
      signTransaction(DEV_KEYS[0], { nonce: nonce + index, to, value: salt + 1n, gasLimit: 60_000n }).raw,
    )
  }
  const job = await chain.startBuild({
    parentHash,
    attributes: {
      timestamp,
      prevRandao: ZERO_HASH,
      suggestedFeeRecipient: SEQUENCER_FEE_VAULT_ADDRESS,
      withdrawals: [],
      parentBeaconBlockRoot: ZERO_HASH,
      transactions,
      noTxPool: true,
      gasLimit: config.genesis.systemConfig.gasLimit,
      eip1559Params: '0x0000000000000000',
    },
  })
  const { envelope } = await job.seal()
  const status = await chain.importPayload(envelope)
  if (status.status !== 'VALID') throw new Error(`block refused: ${JSON.stringify(status)}`)
  return envelope.payload.blockHash
}
