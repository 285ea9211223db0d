import { describe, expect, it } from 'vitest'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { createMemoryBlock, wordOf } from '../testUtils/memoryBlock.ts'
import { CREATE2_DEPLOYER_ADDRESS } from './create2Deployer.ts'

const BEACON_ROOTS: Hex = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
/** EIP-4788's contract. */
const BEACON_ROOTS_CODE: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500'
const HISTORY: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935'
/** EIP-2935's contract. */
const HISTORY_CODE: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500'
const ROOT: Hex = `0x${'ab'.repeat(32)}`
const PARENT: Hex = `0x${'cd'.repeat(32)}`
const START = { parent: { hash: PARENT, timestamp: 0 }, parentBeaconBlockRoot: ROOT }

describe('at the start of a block', () => {
  it('the beacon root is stored in EIP-4788’s ring, by time', async () => {
    const { execution, world } = createMemoryBlock({
      fork: 'ecotone',
      accounts: { [BEACON_ROOTS]: { code: BEACON_ROOTS_CODE, nonce: 1n } },
      block: { timestamp: 20_000 },
    })
    await execution.begin(START, [])
    const index = 20_000n % 8191n
    expect(toHex(world.storage(BEACON_ROOTS, wordOf(index)))).toBe('0x4e20')
    expect(toHex(world.storage(BEACON_ROOTS, wordOf(index + 8191n)))).toBe(ROOT)
    expect(execution.gasLeft).toBe(30_000_000n)
  })

  it('the parent hash is stored in EIP-2935’s ring from Isthmus on', async () => {
    const accounts = { [HISTORY]: { code: HISTORY_CODE, nonce: 1n } }
    const isthmus = createMemoryBlock({ fork: 'isthmus', accounts })
    await isthmus.execution.begin(START, [])
    expect(toHex(isthmus.world.storage(HISTORY, wordOf(6n)))).toBe(PARENT)
    const holocene = createMemoryBlock({ fork: 'holocene', accounts })
    await holocene.execution.begin(START, [])
    expect(toHex(holocene.world.storage(HISTORY, wordOf(6n)))).toBe('0x')
  })

  it('nothing changes if the contracts are not deployed or fail', async () => {
    const plain = createMemoryBlock({ fork: 'isthmus' })
    const root = plain.world.commit().root
    await plain.execution.begin(START, [])
    expect(plain.world.commit().root).toBe(root)
    // SSTORE(0, 1) REVERT
    const failing = createMemoryBlock({ fork: 'ecotone', accounts: { [BEACON_ROOTS]: { code: '0x60015f555f5ffd' } } })
    await failing.execution.begin(START, [])
    expect(failing.world.storage(BEACON_ROOTS, ZERO_HASH).length).toBe(0)
  })

  it('the Create2Deployer is deployed in the activation block of Canyon', async () => {
    const hashes = []
    for (const timestamp of [999, 1000, 1002]) {
      const { execution, world, config } = createMemoryBlock({ fork: 'canyon', block: { timestamp } })
      config.forks.canyon = 1000
      await execution.begin({ parent: START.parent }, [])
      hashes.push(keccak256Hex(world.code(CREATE2_DEPLOYER_ADDRESS)))
    }
    const none = keccak256Hex(fromHex('0x'))
    expect(hashes).toEqual([none, '0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2', none])
  })
})
