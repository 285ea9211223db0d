import { expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { checkDashboardFlags, shownNodes } from './dashboardFlags.ts'

it('reads the nodes that the page shows', () => {
  expect(shownNodes(['b=http://10.0.0.2:9545/', 'https://node.example'])).toEqual([
    { name: 'b', url: 'http://10.0.0.2:9545' },
    { name: 'node.example', url: 'https://node.example' },
  ])
})

it.each([
  [{ dashboardNodes: ['x=ftp://a'] }, ['--dashboard.nodes', 'entry 1']],
  [{ dashboardNodes: ['a=http://a', 'x=ws://u:secret@b'] }, ['--dashboard.nodes', 'entry 2']],
  [{ dashboardNodes: ['x=http://u:secret@a'] }, ['--dashboard.nodes', 'http://a']],
  [{ dashboard: false, dashboardNodes: ['x=http://a'] }, ['--dashboard.nodes']],
  [{ dashboard: false, dashboardTestnet: '/tmp' }, ['--dashboard.testnet']],
  [{ dashboardBatcher: 'a:1' }, ['--dashboard.batcher']],
  [{ dashboardBatcherTokenFile: 'token' }, ['--dashboard.batcher-token-file', '--dashboard.batcher']],
])('refuses %j', (changes, named) => {
  const values = {
    dashboard: true,
    dashboardNodes: [],
    dashboardBatcher: undefined,
    dashboardBatcherTokenFile: undefined,
    dashboardTestnet: undefined,
    ...changes,
  }
  const check = () => checkDashboardFlags(values)
  expect(check).toThrow(errorWith('usage', ...named))
  expect(check).not.toThrow('secret')
})
