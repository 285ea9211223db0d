import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BlockDriver } from '../../src/execution/testUtils/blockDriver.ts'
import { type ExecutionNode, startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import {
  DEV_ADDRESSES,
  DEV_KEYS,
  signAuthorization,
  signTransaction,
} from '../../src/execution/testUtils/signTransaction.ts'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { type Call, type ComparedGeth, expectSameAnswers, startComparedGeth } from '../support/opGethAnswers.ts'

// eth_simulateV1 of op-geth (1.17 or newer) and of devium-geth on the same chain: every member alike. Needs the binary:
// DEVIUM_OP_GETH=/path/to/geth.
const binary = process.env.DEVIUM_OP_GETH
const title = binary === undefined ? 'as op-geth (skipped: DEVIUM_OP_GETH names no binary)' : 'as op-geth'

const [SENDER, SECOND, THIRD] = DEV_ADDRESSES
const NOBODY: Hex = '0x00000000000000000000000000000000000abcde'
const OTHER: Hex = '0x00000000000000000000000000000000000fedcb'
const WORD: Hex = `0x${'42'.repeat(32)}`
const SLOT: Hex = `0x${'00'.repeat(31)}01`
const L1_BLOCK: Hex = '0x4200000000000000000000000000000000000015'
const OPERATOR_FEE_SLOT: Hex = `0x${'00'.repeat(31)}08`
const OPERATOR_FEE: Hex = `0x${'5'.padStart(48, '0')}${'9'.padStart(16, '0')}`
const PRICE = '0x77359400'
/** Returns the word that an opcode or two leave on the stack. */
const returning = (code: string): Hex => `0x${code}5f5260205ff3`
const withCode = (code: Hex) => ({ [NOBODY]: { code } })
const callNobody = { from: SENDER, to: NOBODY }

/** Transfers of ether in calls of every kind, one of them undone, a creation and a destruction; a log between. */
const SPENDER: Hex = `0x${[
  `5f5f5f5f600173${OTHER.slice(2)}5af150`,
  `5f5f5f5f600273${OTHER.slice(2)}5af250`,
  `5f5f5f5f73${OTHER.slice(2)}5af450`,
  '60aa5f5fa1',
  `5f5f5f5f600373${THIRD.slice(2)}5af150`,
  '5f5f6004f050',
  `73${SECOND.slice(2)}ff`,
].join('')}`
const REVERTING: Hex = '0x60bb5f5fa15f5ffd'

const one = (block: object, options: object = {}): Call => {
  return ['eth_simulateV1', { blockStateCalls: [block], ...options }, 'latest']
}
const calls = (...list: object[]) => ({ calls: list })

/** Set-code calls: by whom it is meant for, by another chain, at a wrong nonce, without a signer, and twice. */
const authorize = (key: Uint8Array, change: { nonce?: number; chainId?: bigint } = {}) =>
  signAuthorization(key, { address: NOBODY, ...change })
const AUTHORIZATIONS: object[][] = [
  [authorize(DEV_KEYS[1])],
  [authorize(DEV_KEYS[1], { chainId: 901n }), authorize(DEV_KEYS[2])],
  [authorize(DEV_KEYS[1], { chainId: 5n })],
  [authorize(DEV_KEYS[1], { nonce: 7 })],
  [{ ...authorize(DEV_KEYS[1]), s: '0x0' }],
  [authorize(DEV_KEYS[1]), authorize(DEV_KEYS[1], { nonce: 1 })],
  [authorize(DEV_KEYS[0], { nonce: 3 })],
  [],
]
const setCode = AUTHORIZATIONS.map((authorizationList) => ({ from: SENDER, to: SECOND, authorizationList }))
const delegate = withCode('0x5f54600101805f55305f5260205ff3')

/** Ends after a slot that was cold, by the gas that SLOAD took: with each in the list it goes on to the next. */
const oneSlotMore = withCode(
  `0x${['00', '01'].map((slot) => `5a60${slot}54505a90036103e810602257`).join('')}600254505b00`,
)

const CASES: Record<string, Call[]> = {
  'access lists': [
    ['eth_createAccessList', callNobody, 'latest', oneSlotMore],
    ['eth_createAccessList', callNobody, 'latest'],
    [
      'eth_createAccessList',
      { ...callNobody, accessList: [{ address: SECOND, storageKeys: [WORD] }] },
      'latest',
      oneSlotMore,
    ],
  ],
  'set-code calls': [
    ...setCode.flatMap((call): Call[] => [
      ['eth_call', call, 'latest', delegate],
      ['eth_estimateGas', call, 'latest', delegate],
      ['debug_traceCall', call, 'latest', { tracer: 'prestateTracer', stateOverrides: delegate }],
      ['debug_traceCall', call, 'latest', { tracer: 'callTracer', stateOverrides: delegate }],
      one({ stateOverrides: delegate, ...calls(call, { from: SENDER, to: SECOND }) }, { returnFullTransactions: true }),
    ]),
    ...setCode.slice(0, -1).map((call): Call => ['eth_createAccessList', call, 'latest', delegate]),
    ...[{ to: undefined }, { gas: '0xb3af' }, { gas: '0xb3b0' }].flatMap((change): Call[] => [
      ['eth_call', { ...setCode[0], ...change }, 'latest', delegate],
      ['eth_estimateGas', { ...setCode[0], ...change }, 'latest', delegate],
    ]),
    ['eth_call', { ...setCode[0], authorizationList: [{ address: NOBODY }] }, 'latest'],
    ['eth_call', { ...setCode[0], authorizationList: 5 }, 'latest'],
    one({ stateOverrides: delegate, ...calls({ ...setCode[0], gasPrice: PRICE }) }, { returnFullTransactions: true }),
  ],
  'blocks and their headers': [
    one({}),
    one(calls()),
    one(calls({ from: SENDER, to: NOBODY, value: '0x5' })),
    one(calls({}, { to: NOBODY }, { data: '0x60016000f3' })),
    ['eth_simulateV1', { blockStateCalls: [{}, {}, calls(callNobody), calls(callNobody, callNobody)] }],
    ['eth_simulateV1', { blockStateCalls: [{}] }, '0x1'],
    ['eth_simulateV1', { blockStateCalls: [{ blockOverrides: { number: '0x9' } }, calls(callNobody)] }, 'latest'],
    one({
      blockOverrides: {
        number: '0x8',
        time: '0x7fffffff',
        gasLimit: '0x200000',
        feeRecipient: NOBODY,
        prevRandao: WORD,
        baseFeePerGas: '0x7',
        beaconRoot: WORD,
      },
      ...calls(callNobody),
    }),
    [
      'eth_simulateV1',
      {
        blockStateCalls: [
          { blockOverrides: { feeRecipient: NOBODY, gasLimit: '0x300000', prevRandao: WORD, baseFeePerGas: '0x9' } },
          calls({ from: SENDER, to: NOBODY }),
        ],
      },
      'latest',
    ],
  ],
  'what code sees': [
    ...['41', '42', '43', '44', '45', '46', '47', '48', '4a', '3a', '5a', '32', '33', '34'].map((opcode) =>
      one({
        stateOverrides: withCode(returning(opcode)),
        ...calls({ ...callNobody, gas: '0x20000' }, { ...callNobody, gas: '0x20000', value: '0x1' }),
      }),
    ),
    ...['48', '3a'].map((opcode) =>
      one({
        stateOverrides: withCode(returning(opcode)),
        blockOverrides: { baseFeePerGas: '0x7' },
        ...calls(
          { ...callNobody, gas: '0x20000' },
          { ...callNobody, gas: '0x20000', gasPrice: PRICE },
          { ...callNobody, gas: '0x20000', maxFeePerGas: PRICE, maxPriorityFeePerGas: '0x3' },
        ),
      }),
    ),
    one({
      stateOverrides: withCode(returning('4a')),
      blockOverrides: { blobBaseFee: '0x7' },
      ...calls({ ...callNobody, gas: '0x20000' }),
    }),
    // Hashes of simulated blocks, of the base and of one below it.
    ...['01', '02', '03', '04', '05', '06'].map(
      (back): Call => [
        'eth_simulateV1',
        {
          blockStateCalls: [
            {},
            { stateOverrides: withCode(returning(`60${back}430340`)) },
            calls(callNobody),
            { blockOverrides: { number: '0x9' }, ...calls(callNobody) },
          ],
        },
        'latest',
      ],
    ),
  ],
  state: [
    [
      'eth_simulateV1',
      {
        blockStateCalls: [
          {
            stateOverrides: { [NOBODY]: { code: '0x5f54600101805f555f5260205ff3', balance: '0x64', nonce: '0x7' } },
            ...calls(callNobody, callNobody),
          },
          calls(callNobody),
          { stateOverrides: { [NOBODY]: { state: { [SLOT]: WORD } } }, ...calls(callNobody) },
          { stateOverrides: { [NOBODY]: { stateDiff: { [SLOT]: SLOT } } }, ...calls(callNobody) },
        ],
      },
      'latest',
    ],
    one({ stateOverrides: { [OTHER]: { balance: '0xffff' } }, ...calls({ from: OTHER, to: NOBODY, value: '0xfffe' }) }),
    one({ stateOverrides: { [OTHER]: { balance: '0x0' } } }),
    one({ ...calls({ from: SENDER, data: '0x6001600081600b8239f300' }, { from: SENDER, data: '0x' }) }),
    // Precompiles that are replaced or moved.
    one({
      stateOverrides: { '0x0000000000000000000000000000000000000004': { code: returning('43') } },
      ...calls({ from: SENDER, to: '0x0000000000000000000000000000000000000004', data: WORD }),
    }),
    one({
      stateOverrides: {
        '0x0000000000000000000000000000000000000004': { movePrecompileToAddress: OTHER, code: returning('43') },
      },
      ...calls(
        { from: SENDER, to: '0x0000000000000000000000000000000000000004', data: WORD },
        { from: SENDER, to: OTHER, data: WORD },
      ),
    }),
    one({ stateOverrides: { [OTHER]: { movePrecompileToAddress: NOBODY } } }),
    one({
      stateOverrides: {
        '0x0000000000000000000000000000000000000004': { movePrecompileToAddress: OTHER },
        [OTHER]: { balance: '0x1' },
      },
    }),
  ],
  'logs, transfers among them': [false, true].flatMap((traceTransfers) => [
    one(
      {
        stateOverrides: { [NOBODY]: { code: SPENDER, balance: '0x1000' }, [THIRD]: { code: REVERTING } },
        ...calls({ ...callNobody, value: '0x9', gas: '0x90000' }, { from: SENDER, to: OTHER, value: '0x1' }),
      },
      { traceTransfers },
    ),
    one(
      {
        stateOverrides: { [NOBODY]: { code: REVERTING }, [OTHER]: { code: '0x5f5fa0' } },
        ...calls({ ...callNobody, value: '0x1' }, { from: SENDER, to: OTHER, value: '0x1' }),
      },
      { traceTransfers },
    ),
  ]),
  failures: [
    ...['0xfe', '0x0c', '0x56', '0x5f5ffd', '0x5b600056', '0x50'].map((code) =>
      one({ stateOverrides: withCode(code as Hex), ...calls({ ...callNobody, gas: '0x20000' }, {}) }),
    ),
    one({
      stateOverrides: withCode('0x365f5f37365ffd'),
      ...calls(
        {
          ...callNobody,
          data: `0x08c379a0${'20'.padStart(64, '0')}${'02'.padStart(64, '0')}${'6e6f'.padEnd(64, '0')}`,
        },
        { ...callNobody, data: `0x4e487b71${'11'.padStart(64, '0')}` },
        { ...callNobody, data: '0x12345678' },
      ),
    }),
    one(calls({ from: SENDER, data: '0x60ef5f5360015ff3' })),
  ],
  'whole transactions': [
    one(
      calls(
        { from: SENDER, to: NOBODY, value: '0x1', data: '0x1234' },
        { from: SENDER, to: NOBODY, gasPrice: PRICE, gas: '0x10000' },
        { from: SENDER, to: NOBODY, maxFeePerGas: PRICE, maxPriorityFeePerGas: '0x5', gas: '0x10000' },
        { from: SENDER, data: '0x00', accessList: [{ address: NOBODY, storageKeys: [SLOT] }] },
        { from: SENDER, to: NOBODY, nonce: '0x63' },
        {},
      ),
      { returnFullTransactions: true },
    ),
  ],
  fees: [
    one(calls({ from: SENDER, to: NOBODY, gasPrice: PRICE, gas: '0x10000' }, callNobody)),
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, maxPriorityFeePerGas: '0x5', gas: '0x10000' })),
    one({
      blockOverrides: { baseFeePerGas: '0x9' },
      ...calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, maxPriorityFeePerGas: '0x5', gas: '0x10000' }),
    }),
    one({
      blockOverrides: { baseFeePerGas: '0x9' },
      ...calls({ from: SENDER, to: NOBODY, maxFeePerGas: '0x8', gas: '0x10000' }),
    }),
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2', gas: '0x10000' })),
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: '0x1', gasPrice: '0x2' })),
    one(calls({ from: NOBODY, to: SENDER, gasPrice: PRICE, gas: '0x10000' })),
    one(calls({ from: NOBODY, to: SENDER, value: '0x1' })),
    // An operator fee: scalar 5, constant 9.
    one({
      stateOverrides: { [L1_BLOCK]: { stateDiff: { [OPERATOR_FEE_SLOT]: OPERATOR_FEE } } },
      ...calls({ from: SENDER, to: NOBODY, gasPrice: PRICE, gas: '0x1000000' }),
    }),
  ],
  validation: [
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, gas: '0x10000' }), { validation: true }),
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, gas: '0x10000', nonce: '0x0' }), { validation: true }),
    one(calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, gas: '0x10000', nonce: '0x99' }), { validation: true }),
    one(calls({ from: SENDER, to: NOBODY, gas: '0x10000' }), { validation: true }),
    one({ blockOverrides: { baseFeePerGas: '0x0' }, ...calls({ from: SENDER, to: NOBODY }) }, { validation: true }),
    one({}, { validation: true }),
    one({ blockOverrides: { time: '0x7fffffff' } }, { validation: true }),
    one(
      {
        stateOverrides: { [SENDER]: { code: '0x00' } },
        ...calls({ from: SENDER, to: NOBODY, maxFeePerGas: PRICE, gas: '0x10000' }),
      },
      { validation: true },
    ),
  ],
  limits: [
    ['eth_simulateV1', {}],
    ['eth_simulateV1', { blockStateCalls: [] }],
    ['eth_simulateV1', { blockStateCalls: [{}] }, '0x99'],
    ['eth_simulateV1', { blockStateCalls: Array.from({ length: 257 }, () => ({})) }],
    ['eth_simulateV1', { blockStateCalls: [{ blockOverrides: { number: '0x2000' } }] }],
    one({ blockOverrides: { number: '0x1' } }),
    [
      'eth_simulateV1',
      { blockStateCalls: [{ blockOverrides: { number: '0x9' } }, { blockOverrides: { number: '0x9' } }] },
    ],
    one({ blockOverrides: { time: '0x1' } }),
    [
      'eth_simulateV1',
      { blockStateCalls: [{ blockOverrides: { time: '0x7fffffff' } }, { blockOverrides: { time: '0x7fffffff' } }] },
    ],
    one({ blockOverrides: { gasLimit: '0x5208' }, ...calls(callNobody, callNobody) }),
    one({ blockOverrides: { gasLimit: '0x5208' }, ...calls({ ...callNobody, gas: '0x5209' }) }),
    one(calls({ ...callNobody, gas: '0x5207' })),
    one(calls({ ...callNobody, gas: '0xffffffffffffffff' })),
    one(calls({ ...callNobody, chainId: '0x99' })),
    one(calls({ from: SENDER, data: toHex(new Uint8Array(49_153)) })),
    // The gas that all calls have together: 50,000,000 by default.
    one({
      blockOverrides: { gasLimit: '0x10000000' },
      stateOverrides: withCode('0x5b600056'),
      ...calls({ ...callNobody, gas: '0x1c9c380' }, callNobody, callNobody),
    }),
    ['eth_simulateV1', { blockStateCalls: [{}], validation: 5 }, 'latest'],
    ['eth_simulateV1', 5, 'latest'],
    ['eth_simulateV1'],
  ],
}

describe.skipIf(binary === undefined).each(['holocene-span-brotli-calldata', 'from Jovian on'])(
  `eth_simulateV1 ${title}, %s`,
  (name) => {
    let geth: ComparedGeth | undefined
    let ours: ExecutionNode | undefined
    let directory: string

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'devium-op-geth-simulate-'))
      const { genesis, rollup } = name === 'from Jovian on' ? jovian() : loadRecordedRpc(name)
      geth = await startComparedGeth(binary ?? '', directory, genesis)
      ours = await startExecutionNode(genesis)
      const driver = new BlockDriver(ours.engine, rollup)
      const theirs = new BlockDriver(geth.engine, rollup)
      for (let nonce = 0; nonce < 2; nonce++) {
        const { raw } = signTransaction(DEV_KEYS[0], { nonce, to: NOBODY, value: 7n })
        await theirs.insert(await driver.build({ transactions: [raw] }), undefined)
      }
    })

    afterAll(async () => {
      geth?.process.kill('SIGKILL')
      await Promise.all([geth?.eth.close(), geth?.engine.close(), ours?.close()])
      rmSync(directory, { recursive: true, force: true })
    })

    it.each(Object.keys(CASES))('%s', async (cases) => {
      if (geth === undefined || ours === undefined) throw new Error('not started')
      await expectSameAnswers(ours.eth, geth.eth, CASES[cases] ?? [])
      expect(ours.unexpected).toEqual([])
    })
  },
)

/** A chain that has been at Jovian since its genesis. */
function jovian(): { genesis: object; rollup: object } {
  const { genesis, rollup } = loadRecordedRpc('2026-holocene-isthmus-jovian-calldata')
  const atGenesis = (config: object) =>
    Object.fromEntries(
      Object.entries(config).map(([member, value]) => [
        member,
        /^(isthmus|jovian|prague)(T|_t)ime$/.test(member) ? firstTime : value,
      ]),
    )
  const firstTime = 0
  return {
    // The parameters of the base fee as Jovian has them: with a minimum, which is 0.
    genesis: {
      ...genesis,
      config: atGenesis(Object(genesis.config)),
      extraData: `0x01000000fa00000006${'00'.repeat(8)}`,
    },
    rollup: atGenesis(rollup),
  }
}
