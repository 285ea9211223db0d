import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../../../test/support/anvil.ts'
import type { RpcClient } from '../../../jsonRpc/client.ts'
import { createPatientClient } from '../../../jsonRpc/testUtils/patientClient.ts'
import type { Hex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import {
  type AccountProof,
  accountProofFromJson,
  type StorageProof,
  storageProofsFromJson,
  verifyAccountProof,
  verifyStorageProof,
} from './stateProof.ts'

const CONTRACT: Hex = '0x4200000000000000000000000000000000000016'
let anvil: Anvil
let rpc: RpcClient
let proof: AccountProof
let slots: StorageProof[]
let stateRoot: Hex

beforeAll(async () => {
  anvil = await startAnvil()
  rpc = createPatientClient({ url: anvil.url })
  await rpc.request('anvil_setCode', [CONTRACT, '0x600160005500'])
  await rpc.request('anvil_setStorageAt', [CONTRACT, '0x1', `0x${'00'.repeat(31)}07`])
  for (const slot of [2, 3, 4, 5]) {
    await rpc.request('anvil_setStorageAt', [CONTRACT, `0x${slot}`, `0x${'77'.repeat(32)}`])
  }
  await rpc.request('evm_mine', [])
  const block = await rpc.request('eth_getBlockByNumber', ['latest', false])
  stateRoot = (block as { stateRoot: Hex }).stateRoot
  const answer = await rpc.request('eth_getProof', [
    CONTRACT,
    ['1', '9', '3'].map((digit) => `0x${digit.padStart(64, '0')}`),
    'latest',
  ])
  proof = accountProofFromJson(answer)
  slots = storageProofsFromJson(answer)
})

afterAll(async () => {
  await rpc?.close()
  await anvil?.stop()
})

it('accepts an account proof of another client', () => {
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
  expect(() => verifyAccountProof(change(proof), stateRoot)).toThrow(errorWith('bad-account-proof', stateRoot))
})

it('refuses another state root', () => {
  const other: Hex = `0x${'22'.repeat(32)}`
  expect(() => verifyAccountProof(proof, other)).toThrow(errorWith('bad-account-proof', proof.address, other))
})

it('accepts slot proofs of another client, including slots without a value', () => {
  expect(slots.map(({ key, value }) => [key.slice(-1), value])).toEqual([
    ['1', 7n],
    ['9', 0n],
    ['3', BigInt(`0x${'77'.repeat(32)}`)],
  ])
  for (const slot of slots) verifyStorageProof(slot, proof.storageHash)
})

it.each<[string, (good: StorageProof, other: StorageProof) => StorageProof]>([
  ['another value', (good) => ({ ...good, value: good.value + 1n })],
  ['no value', (good) => ({ ...good, value: 0n })],
  ['another key', (good) => ({ ...good, key: `0x${'00'.repeat(31)}02` })],
  ['the proof of an empty slot', (good, empty) => ({ ...good, proof: empty.proof })],
  ['a missing node', (good) => ({ ...good, proof: good.proof.slice(0, -1) })],
  ['no nodes', (good) => ({ ...good, value: 0n, proof: [] })],
])('refuses a slot with %s', (_name, change) => {
  const [good, empty] = slots
  if (good === undefined || empty === undefined) throw new Error('no proofs')
  const problem = errorWith('bad-storage-proof', proof.storageHash)
  expect(() => verifyStorageProof(change(good, empty), proof.storageHash)).toThrow(problem)
})

it('refuses an empty slot with a value or with a truncated proof', () => {
  const [, empty] = slots
  if (empty === undefined) throw new Error('no proof')
  const problem = errorWith('bad-storage-proof', empty.key, proof.storageHash)
  expect(() => verifyStorageProof({ ...empty, value: 1n }, proof.storageHash)).toThrow(problem)
  expect(() => verifyStorageProof({ ...empty, proof: empty.proof.slice(0, -1) }, proof.storageHash)).toThrow()
})

it('treats every slot of an account without storage as empty', () => {
  const root: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
  const key: Hex = `0x${'00'.repeat(32)}`
  verifyStorageProof({ key, value: 0n, proof: [] }, root)
  expect(() => verifyStorageProof({ key, value: 1n, proof: [] }, root)).toThrow(
    errorWith('bad-storage-proof', key, root),
  )
})
