import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import type { Hex } from '../../lib/hex.ts'
import { createRpcClient, type RpcClient } from '../../lib/jsonRpc/client.ts'
import { type AccountProof, accountProofFromJson, verifyAccountProof } from './accountProof.ts'

const CONTRACT: Hex = '0x4200000000000000000000000000000000000016'
let anvil: Anvil
let rpc: RpcClient
let proof: AccountProof
let stateRoot: Hex

beforeAll(async () => {
  anvil = await startAnvil()
  rpc = createRpcClient({ url: anvil.url })
  await rpc.request('anvil_setCode', [CONTRACT, '0x600160005500'])
  await rpc.request('anvil_setStorageAt', [CONTRACT, '0x1', `0x${'00'.repeat(31)}07`])
  await rpc.request('evm_mine', [])
  const block = await rpc.request('eth_getBlockByNumber', ['latest', false])
  stateRoot = (block as { stateRoot: Hex }).stateRoot
  proof = accountProofFromJson(await rpc.request('eth_getProof', [CONTRACT, [], 'latest']))
})

afterAll(async () => {
  await rpc?.close()
  await anvil?.stop()
})

it('accepts what another client proves about an account', () => {
  expect(proof.accountProof.length).toBeGreaterThan(1)
  verifyAccountProof(proof, stateRoot)
})

it.each<[string, (good: AccountProof) => AccountProof]>([
  ['another storage root', (good) => ({ ...good, storageHash: `0x${'11'.repeat(32)}` })],
  ['another balance', (good) => ({ ...good, balance: good.balance + 1n })],
  ['another address', (good) => ({ ...good, address: `0x${'42'.repeat(20)}` })],
  ['a missing node', (good) => ({ ...good, accountProof: good.accountProof.slice(0, -1) })],
  ['no nodes', (good) => ({ ...good, accountProof: [] })],
])('refuses %s', (_name, change) => {
  expect(() => verifyAccountProof(change(proof), stateRoot)).toThrow('does not match state root')
})

it('refuses another state root', () => {
  expect(() => verifyAccountProof(proof, `0x${'22'.repeat(32)}`)).toThrow('does not match state root')
})
