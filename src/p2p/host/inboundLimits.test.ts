import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { createInboundLimits } from './inboundLimits.ts'

const LIMITS = {
  openPerIp: 4,
  pendingPerIp: 2,
  pending: 20,
  ratePerIp: { perSecond: 1, burst: 10 },
  exempt: ['127.0.0.0/8'],
}

function setUp() {
  const clock = new ManualClock(1_000)
  const limits = createInboundLimits({ clock }, LIMITS)
  const connect = (ip: string, upgrade = true) => {
    const connection = Object.assign(new EventTarget(), {
      aborted: false,
      abort() {
        connection.aborted = true
        connection.dispatchEvent(new Event('close'))
      },
    })
    const refusal = limits.refuse(ip, connection)
    if (refusal === undefined && upgrade) limits.onUpgraded(connection)
    return { refusal, connection, close: () => connection.dispatchEvent(new Event('close')) }
  }
  return { clock, limits, connect }
}

describe('limits of incoming connections', () => {
  it('apply to each address', () => {
    const { connect } = setUp()
    const open = Array.from({ length: 4 }, () => connect('1.2.3.4'))
    expect(open.map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined, undefined])
    expect(connect('1.2.3.4').refusal).toContain('too many connections from')
    expect(connect('1.2.3.5').refusal).toBeUndefined()
    expect(connect('fd00::1').refusal).toBeUndefined()
    open[0]?.close()
    expect(connect('1.2.3.4').refusal).toBeUndefined()
  })

  it('count the addresses of one IPv6 network as one', () => {
    const { connect } = setUp()
    for (let n = 1; n <= 4; n++) expect(connect(`2001:db8:1:20${n}::1`).refusal).toBeUndefined()
    expect(connect('2001:db8:1:2ff::9').refusal).toContain('too many connections from')
    expect(connect('2001:db8:1:300::9').refusal).toBeUndefined()
  })

  it('limit slow handshakes, so that other addresses can connect', () => {
    const { limits, connect } = setUp()
    const first = connect('1.2.3.4', false)
    connect('1.2.3.4', false)
    expect(connect('1.2.3.4', false).refusal).toContain('handshakes')
    limits.onUpgraded(first.connection)
    expect(connect('1.2.3.4', false).refusal).toBeUndefined()
    // Closed after its handshake: counted once.
    first.close()
    expect(connect('1.2.3.4', false).refusal).toContain('handshakes')
  })

  it('close the oldest handshake when a new one exceeds the limit of all addresses', () => {
    const { limits, connect } = setUp()
    const silent = Array.from({ length: 20 }, (_, n) => connect(`1.2.3.${n}`, false))
    const [first, second, third] = silent
    if (first === undefined || second === undefined) throw new Error('none')
    limits.onUpgraded(first.connection)
    expect(connect('4.4.4.4', false).refusal).toBeUndefined()
    expect(silent.filter(({ connection }) => connection.aborted)).toEqual([])
    expect(connect('5.5.5.5', false).refusal).toBeUndefined()
    expect(connect('6.6.6.6').refusal).toBeUndefined()
    expect(silent.filter(({ connection }) => connection.aborted)).toEqual([second, third])
  })

  it('slow down repeated connections', async () => {
    const { clock, connect } = setUp()
    const churn = () => {
      const { refusal, close } = connect('1.2.3.4')
      if (refusal === undefined) close()
      return refusal
    }
    for (let n = 0; n < 10; n++) expect(churn()).toBeUndefined()
    expect(churn()).toContain('a second')
    await clock.advance(2_000)
    expect([churn(), churn(), churn()]).toEqual([undefined, undefined, expect.stringContaining('a second')])
  })

  it('do not apply to exempt ranges', () => {
    const { connect } = setUp()
    for (let n = 0; n < 300; n++) expect(connect('127.0.0.1', false).refusal).toBeUndefined()
  })
})
