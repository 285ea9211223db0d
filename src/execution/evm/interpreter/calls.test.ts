import { describe, expect, it, vi } from 'vitest'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { createMemoryBlock, deposit, type MemoryAccount, slotOf } from '../../testUtils/memoryBlock.ts'
import { pairingLoop } from '../../testUtils/pairingLoop.ts'

const MAIN: Hex = `0x${'aa'.repeat(20)}`
const OTHER: Hex = `0x${'bb'.repeat(20)}`
const DELEGATED: Hex = `0x${'cc'.repeat(20)}`
const other = OTHER.slice(2)
const forbidden = (n: number): Hex => `0x${'dd'.repeat(19)}0${n}`

/** Calls and creations whose outcome is stored by MAIN, run by our loop and by EthereumJS. */
const CASES: { id: string; main: string; accounts?: Record<Hex, MemoryAccount>; slots: Record<number, bigint> }[] = [
  {
    id: 'return data and its size are there after a call',
    // CALL(gas, OTHER, 0, 0, 0, 0, 32) → slot 0; RETURNDATASIZE → 1; MLOAD(0) → 2
    main: `60206000600060006000 73${other} 5af1 600055 3d600155 600051600255 00`,
    accounts: { [OTHER]: { code: '0x602a60005260206000f3' } },
    slots: { 0: 1n, 1: 32n, 2: 42n },
  },
  {
    id: 'what the identity precompile gave back stays when the memory that it was given changes',
    // MSTORE(0, 42), STATICCALL of 4 with it, MSTORE(0, 7), RETURNDATACOPY to 32 → slot 1
    main: '602a5f52 5f5f60205f60045afa 5f55 60075f52 60205f60203e 602051600155 00',
    slots: { 0: 1n, 1: 42n },
  },
  {
    id: 'the identity precompile gives back into the memory that it was given',
    // MSTORE(0, 1), MSTORE(32, 2), STATICCALL of 4 with 0..64 to 32..96; MLOAD(32), MLOAD(64) → slots
    main: '60015f52 6002602052 6040602060405f60045afa 5f55 602051600155 604051600255 00',
    slots: { 0: 1n, 1: 1n, 2: 2n },
  },
  {
    id: 'call data stays what it was, whatever the frames below do to theirs',
    // OTHER is called with 32 bytes. It writes 9 to its memory, calls the identity precompile with it, and returns its
    // call data. MAIN's memory grows meanwhile by the output.
    main: `602a5f52 602062010000 60205f 73${other} 5afa 5f55 62010000 51600155 5f51600255 00`,
    accounts: { [OTHER]: { code: '0x60095f5260205f60205f60045afa505f355f5260205ff3' } },
    slots: { 0: 1n, 1: 42n, 2: 42n },
  },
  {
    id: 'a revert gives its data back and undoes what was done',
    main: `60206000600060006000 73${other} 5af1 600055 3d600155 600051600255 00`,
    // SSTORE(0, 9) then REVERT with a word of 42.
    accounts: { [OTHER]: { code: '0x6009600055602a60005260206000fd' } },
    slots: { 0: 0n, 1: 32n, 2: 42n },
  },
  {
    id: 'a failure undoes transient stores, be they 40,000',
    // TSTORE(1, 7), then DELEGATECALL of code that stores 1 at 1, 2 at 2, … until it is out of gas; TLOAD(1), TLOAD(2),
    // TLOAD(40,000).
    main: `600760015d 5f5f5f5f 73${other} 624c4b40f4 5f55 60015c600155 60025c600255 619c405c600355 00`,
    accounts: { [OTHER]: { code: '0x5f5b60010180805d600156' } },
    slots: { 0: 0n, 1: 7n, 2: 0n, 3: 0n },
  },
  {
    id: 'a failure gives nothing back',
    main: `60206000600060006000 73${other} 5af1 600055 3d600155 600051600255 00`,
    accounts: { [OTHER]: { code: '0xfe' } },
    slots: { 0: 0n, 1: 0n, 2: 0n },
  },
  {
    id: 'value moves with a call, and not more than there is',
    // CALL with 3 of the 5, then with 3 again.
    main: `600060006000600060 03 73${other} 5af1 600055 600060006000600060 03 73${other} 5af1 600155 47600255 73${other}31600355 00`,
    slots: { 0: 1n, 1: 0n, 2: 2n, 3: 3n },
  },
  {
    id: 'a static call cannot send value, store, log, create or destroy',
    main: [1, 2, 3, 4, 5].map((n) => `6000600060006000 73${forbidden(n).slice(2)} 620fffff fa 60 0${n} 55`).join(''),
    accounts: {
      [forbidden(1)]: { balance: 9n, code: '0x6000600060006000600173000000000000000000000000000000000000dead5af100' },
      [forbidden(2)]: { code: '0x6001600055' },
      [forbidden(3)]: { code: '0x60006000a0' },
      [forbidden(4)]: { code: '0x600060006000f0' },
      [forbidden(5)]: { code: '0x33ff' },
    },
    slots: { 1: 0n, 2: 0n, 3: 0n, 4: 0n, 5: 0n },
  },
  {
    id: 'a static call of a contract that makes a plain call succeeds',
    main: `6000600060006000 73${other} 5afa 600155 00`,
    accounts: { [OTHER]: { code: '0x6000600060006000600073000000000000000000000000000000000000dead5af100' } },
    slots: { 1: 1n },
  },
  {
    id: 'DELEGATECALL keeps storage, sender and value',
    main: `6000600060006000 73${other} 5af4 600955 00`,
    // SSTORE(1, CALLER) SSTORE(2, CALLVALUE) SSTORE(3, ADDRESS)
    accounts: { [OTHER]: { code: '0x3360015534600255306003 55'.replace(' ', '') as Hex } },
    slots: { 9: 1n, 1: BigInt(`0x${'33'.repeat(20)}`), 2: 1n, 3: BigInt(MAIN) },
  },
  {
    id: 'CALLCODE keeps storage, and is its own caller',
    main: `60006000600060006001 73${other} 5af2 600955 00`,
    accounts: { [OTHER]: { code: '0x33600155346002553060035500' } },
    slots: { 9: 1n, 1: BigInt(MAIN), 2: 1n, 3: BigInt(MAIN) },
  },
  {
    id: 'gas given is a 64th less than there is, plus the stipend with value',
    // OTHER returns GAS. CALL with 1 wei and no gas: 2,300 − 2.
    main: `60206000600060006001 73${other} 6000f1 600155 600051600255 00`,
    accounts: { [OTHER]: { balance: 1n, code: '0x5a60005260206000f3' } },
    slots: { 1: 1n, 2: 2_298n },
  },
  {
    id: 'a creation that reverts with data like that of EIP-3541 keeps its gas and its data',
    // Init code: REVERT with the byte 0xef. Slot 2: whether less than 100,000 gas was used.
    main: '6760ef5f5360015ffd 5f52 5a 600860186000f0 600055 3d600155 5a9003 620186a0 11 600255 00',
    slots: { 0: 0n, 1: 1n, 2: 1n },
  },
  {
    id: 'CREATE and CREATE2 give addresses, and 0 for what fails',
    // Init code 0x00 (stops), then 0xfe.
    main: '6000600053 600160006000f0 3b600155 60fe600053 600160006000f0 600255 6000600053 6007600160006000f5 15600355 00',
    slots: { 1: 0n, 2: 0n, 3: 0n },
  },
  {
    id: 'a creation that reverts gives its data back',
    // Init code: REVERT(0, 32)
    main: '6460206000fd 600052 6005601b6000f0 600155 3d600255 00',
    slots: { 1: 0n, 2: 32n },
  },
  {
    id: 'the same CREATE2 twice fails the second time',
    main: '6000600053 6007600160006000f5 15600155 6007600160006000f5 15600255 00',
    slots: { 1: 0n, 2: 1n },
  },
  {
    id: 'a contract made in this transaction that destroys itself takes its ether with it',
    // Init code deploys 30ff (to itself). The contract is created with 2 wei, called, and then read.
    main: '6a6130ff6000526002601ef3 600052 600b60156002f0 600052 60006000600060006000 600051 5af1 600155 600051 31 600255 00',
    slots: { 1: 1n, 2: 0n },
  },
]

const DELEGATION_CASE = {
  id: 'a call to a delegated account runs the delegate’s code',
  main: `60206000600060006000 73${DELEGATED.slice(2)} 5af1 600155 600051600255 73${DELEGATED.slice(2)}3b600355 00`,
  accounts: {
    [DELEGATED]: { code: `0xef0100${other}` as Hex },
    [OTHER]: { code: '0x3060005260206000f3' as Hex },
  },
  slots: { 1: 1n, 2: BigInt(DELEGATED), 3: 23n },
}

async function run(code: string, accounts: Record<Hex, MemoryAccount>, isReference: boolean) {
  const { execution, world } = createMemoryBlock({
    fork: 'isthmus',
    accounts: {
      ...accounts,
      [MAIN]: { balance: 4n, nonce: 1n, code: `0x${code.replaceAll(' ', '')}` },
      [`0x${'33'.repeat(20)}`]: { balance: 10n },
    },
    isReference,
  })
  const outcome = await execution.add(deposit({ to: MAIN, value: 1n, gasLimit: 20_000_000n }))
  return { outcome, world, root: world.commit().root }
}

describe('call opcodes', () => {
  it.each([...CASES, DELEGATION_CASE])('$id', async ({ main, accounts = {}, slots }) => {
    const ours = await run(main, accounts, false)
    expect(ours.outcome.failure).toBeUndefined()
    for (const [slot, value] of Object.entries(slots)) {
      expect({ slot, value: slotOf(ours.world, MAIN, BigInt(slot)) }).toEqual({ slot, value })
    }
    const reference = await run(main, accounts, true)
    expect(ours.outcome.gasUsed).toBe(reference.outcome.gasUsed)
    expect(ours.root).toBe(reference.root)
  })

  it('pass the caller’s memory without a copy', async () => {
    // Passes a megabyte of memory repeatedly to a precompile, to a contract and to an address without code.
    const calls = ['6004', `73${other}`, '61dead'].map((to) => `5f5f62100000 5f ${to} 5afa50`).join('')
    const code: Hex = `0x${`620fffff51505b${calls}600656`.replaceAll(' ', '')}`
    const { execution } = createMemoryBlock({ accounts: { [MAIN]: { code }, [OTHER]: { code: '0x00' } } })
    const seen = new Set<ArrayBufferLike>()
    let count = 0
    execution.env.evm.tracer = {
      onEnter({ input }) {
        if (input.length !== 2 ** 20) return
        seen.add(input.buffer)
        count++
      },
    }
    await execution.add(deposit({ to: MAIN, gasLimit: 6_000_000n }))
    expect(count).toBeGreaterThan(20)
    expect(seen.size).toBe(1)
  })

  it('nest at most 1,024 frames', async () => {
    // Counts in slot 0 and calls itself with all gas.
    const main = '600054600101600055 60006000600060006000 30 5af1 00'
    const { execution, world } = createMemoryBlock({
      accounts: { [MAIN]: { code: `0x${main.replaceAll(' ', '')}` } },
      block: { gasLimit: 2n ** 52n },
    })
    await execution.add(deposit({ to: MAIN, gasLimit: 2n ** 51n }))
    expect(slotOf(world, MAIN, 0n)).toBe(1025n)
  })

  // The benchmark bench:loaded-builder measures how long such programs block the event loop.
  it.each([
    { id: 'an endless loop', main: '5b600056', gasLimit: 8_000_000n, minYields: 300 },
    {
      id: 'calls of a fast precompile',
      main: '5b60006000600060006004 5afa50600056',
      gasLimit: 8_000_000n,
      minYields: 800,
    },
    {
      id: 'hashes of a megabyte without a loop',
      main: `${'62100000 6000 20 50'.repeat(200)}fe`,
      gasLimit: 60_000_000n,
      minYields: 200,
    },
    { id: 'calls of a slow precompile', main: pairingLoop().slice(2), gasLimit: 8_000_000n, minYields: 70 },
  ])('yield to the event loop repeatedly: $id', async ({ main, gasLimit, minYields }) => {
    const { execution } = createMemoryBlock({
      accounts: { [MAIN]: { code: `0x${main.replaceAll(' ', '')}` } },
      block: { gasLimit: 100_000_000n },
    })
    const yields = vi.spyOn(execution.env.evm, 'yieldToLoop')
    const outcome = await execution.add(deposit({ to: MAIN, gasLimit }))
    expect(outcome.failure).toMatch(/^(out of gas|invalid opcode: INVALID)$/)
    expect(yields.mock.calls.length).toBeGreaterThanOrEqual(minYields)
  })
})

describe('failures', () => {
  it.each([
    { id: 'INVALID', code: '0xfe', failure: 'invalid opcode: INVALID' },
    { id: 'an undefined opcode', code: '0x0c', failure: 'invalid opcode: opcode 0xc not defined' },
    { id: 'an empty stack', code: '0x600101', failure: 'stack underflow (1 <=> 2)' },
    { id: 'a full stack', code: '0x5b5a600056', failure: 'stack limit reached 1024 (1023)' },
    { id: 'a jump to nowhere', code: '0x600356', failure: 'invalid jump destination' },
    { id: 'too little gas', code: '0x5b600056', failure: 'out of gas' },
    { id: 'a revert', code: '0x60006000fd', failure: 'execution reverted' },
  ])('$id is named in the failure', async ({ code, failure }) => {
    const { execution } = createMemoryBlock({ accounts: { [MAIN]: { code: `0x${code.slice(2)}` } } })
    expect((await execution.add(deposit({ to: MAIN, gasLimit: 100_000n }))).failure).toBe(failure)
  })
})

describe('logs', () => {
  it('of successful frames are kept in order', async () => {
    // LOG1(0, 0, 1), CALL OTHER (logs 2), LOG1(0, 0, 3), CALL a contract that logs and reverts.
    const reverting: Hex = `0x${'ee'.repeat(20)}`
    const main = `600160006000a1 60006000600060006000 73${other} 5af150 600360006000a1 60006000600060006000 73${reverting.slice(2)} 5af150 00`
    const { execution } = createMemoryBlock({
      accounts: {
        [MAIN]: { code: `0x${main.replaceAll(' ', '')}` },
        [OTHER]: { code: '0x600260006000a100' },
        [reverting]: { code: '0x600960006000a160006000fd' },
      },
    })
    const { logs } = await execution.add(deposit({ to: MAIN, gasLimit: 200_000n }))
    expect(logs.map(({ address, topics }) => [address, topics.map(Number)])).toEqual([
      [MAIN, [1]],
      [OTHER, [2]],
      [MAIN, [3]],
    ])
    expect(logs.map(({ data }) => toHex(data))).toEqual(['0x', '0x', '0x'])
  })
})
