import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterFamily, gaugeFamily, HistogramCounts, histogramFamily } from './families.ts';

test('a family is its head and a line for each series', () => {
  const samples = [{ labels: { code: '200', verb: 'GET' }, value: 3 }, { value: 0.5 }];
  assert.equal(
    counterFamily('requests_total', 'Requests answered.', samples),
    '# HELP requests_total Requests answered.\n# TYPE requests_total counter\nrequests_total{code="200",verb="GET"} 3\nrequests_total 0.5\n',
  );
});

test('what would end a text early is escaped', () => {
  const text = gaugeFamily('a', 'C:\\ is\na "disk"', [{ labels: { path: 'C:\\"x"\n' }, value: 1 }]);
  assert.equal(text, '# HELP a C:\\\\ is\\na "disk"\n# TYPE a gauge\na{path="C:\\\\\\"x\\"\\n"} 1\n');
});

test('a measurement tells its own time, and figures without end their sign', () => {
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  const samples = [{ value: 1, timestampMs: 1_767_225_600_000.4 }, ...values.map((value) => ({ value }))];
  const lines = gaugeFamily('a', '', samples).split('\n').slice(2, -1);
  assert.deepEqual(lines, ['a 1 1767225600000', 'a +Inf', 'a -Inf', 'a NaN']);
});

test('a histogram counts what was at most each limit, which is written as Go does; an empty one is not told', () => {
  const limits = [1e-8, 0.25, 1_048_576];
  const [counts, empty] = [new HistogramCounts(limits), new HistogramCounts(limits)];
  for (const value of [0, 0.25, 1, 2_000_000]) counts.add(value);
  const series = [
    { labels: { verb: 'GET' }, counts },
    { labels: { verb: 'PUT' }, counts: empty },
  ];
  assert.deepEqual(histogramFamily('a', '', series).split('\n').slice(2, -1), [
    'a_bucket{verb="GET",le="1e-08"} 1',
    'a_bucket{verb="GET",le="0.25"} 2',
    'a_bucket{verb="GET",le="1.048576e+06"} 3',
    'a_bucket{verb="GET",le="+Inf"} 4',
    'a_sum{verb="GET"} 2000001.25',
    'a_count{verb="GET"} 4',
  ]);
});
