import type { RpcCall, RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError, describeError } from '../../src/lib/errors.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { JsonObjectReader } from '../../src/lib/jsonReader.ts'
import type { BlockId } from '../../src/rollup/protocol/types.ts'
import { DEV_ACCOUNT_BALANCE_WEI, roles } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import type { DeploymentStep } from './contracts.ts'
import { signTransaction } from './transaction.ts'

/** Multicall3's address, which viem and other clients expect on every chain. */
export const MULTICALL3_ADDRESS: Hex = '0xca11bde05977b3631167028862be2a173976ca11'

/** The L1 base fee at genesis is 1 gwei. Ten times that covers the deployment in any early block. */
const MAX_FEE_PER_GAS_WEI = 10_000_000_000n
/** Block gas limit after the deployment, as on Ethereum in 2024. */
const L1_GAS_LIMIT = 30_000_000

export type SignedStep = DeploymentStep & { raw: Hex }

/** Signs the steps with the owner's key, nonces from 0. */
export function signDeployment(steps: readonly DeploymentStep[], l1ChainId: number): SignedStep[] {
  const fees = { maxFeePerGasWei: MAX_FEE_PER_GAS_WEI, maxPriorityFeePerGasWei: MAX_FEE_PER_GAS_WEI / 10n }
  const options = { chainId: l1ChainId, privateKey: roles.owner.privateKey, ...fees }
  return steps.map((step, nonce) => ({ ...step, raw: signTransaction(step, { ...options, nonce }) }))
}

/**
 * Deploys everything in block 1 of an Anvil that mines only on request. One request holds all transactions, and one block at the
 * rollup's genesis time includes them. Block 1 becomes the rollup's L1 genesis. Anvil's block 0 has the empty state root, so
 * storage proofs against it fail.
 */
export async function deployContracts(
  l1: RpcClient,
  steps: readonly SignedStep[],
  { genesisTime, l1BlockTime }: Pick<ChainParameters, 'genesisTime' | 'l1BlockTime'>,
  multicall3Code: Uint8Array,
): Promise<BlockId> {
  const funding = toQuantity(DEV_ACCOUNT_BALANCE_WEI)
  await batch(l1, [
    ...Object.values(roles).map(({ address }) => ({ method: 'anvil_setBalance', params: [address, funding] })),
    { method: 'anvil_setCode', params: [MULTICALL3_ADDRESS, toHex(multicall3Code)] },
    ...steps.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    { method: 'evm_setNextBlockTimestamp', params: [genesisTime] },
  ])
  // Anvil runs the calls of a batch concurrently, so ordered calls go in separate requests.
  await l1.request('evm_mine', [])
  // Without this, Anvil keeps the deployment's delay in all later timestamps. L2 would then be ahead of L1.
  await l1.request('evm_setTime', [Math.max(genesisTime, Math.floor(Date.now() / 1000))])
  const [, , block, receipts] = await batch(l1, [
    { method: 'evm_setBlockGasLimit', params: [toQuantity(L1_GAS_LIMIT)] },
    { method: 'evm_setIntervalMining', params: [l1BlockTime] },
    { method: 'eth_getBlockByNumber', params: ['0x1', false] },
    { method: 'eth_getBlockReceipts', params: ['0x1'] },
  ])
  checkReceipts(steps, receipts)
  const first = new JsonObjectReader(block, 'L1 block 1')
  const timestamp = first.quantityNumber('timestamp')
  if (timestamp !== genesisTime) {
    throw new DeviumError('l1-deployment', `L1 block 1 has timestamp ${timestamp}, expected ${genesisTime}`)
  }
  return { hash: first.hex('hash', 32), number: 1 }
}

/** Throws DeviumError that names the failed step. */
export function checkReceipts(steps: readonly SignedStep[], receipts: unknown): void {
  const byHash = new Map(
    (Array.isArray(receipts) ? receipts : []).map((receipt) => [receipt?.transactionHash, receipt]),
  )
  for (const { what, raw } of steps) {
    const receipt = byHash.get(toHex(keccak256(fromHex(raw))))
    if (receipt?.status !== '0x1') {
      const how = receipt === undefined ? 'was not included in block 1' : 'reverted'
      throw new DeviumError('l1-deployment', `L1 deployment: ${what} ${how}`)
    }
  }
}

/** Returns the results. Throws DeviumError that names the failed method. */
export async function batch(l1: RpcClient, calls: readonly RpcCall[]): Promise<unknown[]> {
  const answers = await l1.batch(calls)
  for (const [index, answer] of answers.entries()) {
    if (answer instanceof Error) {
      throw new DeviumError('l1-deployment', `${calls[index]?.method} failed: ${describeError(answer)}`, {
        cause: answer,
      })
    }
  }
  return answers
}
