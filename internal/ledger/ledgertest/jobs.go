package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// job tries to acquire a job and says whether that succeeded.
func (f *fixture) job(name, owner string, d time.Duration) (campaign.JobLease, bool) {
	f.Helper()
	l, ok, err := f.l.AcquireJob(f.ctx, name, owner, d)
	f.ok(err)
	return l, ok
}

var jobPromises = []promise{
	{"AJobIsLeasedToOneAtATime", func(f *fixture) {
		before := time.Now()
		l, ok := f.job("sweep", "a", long)
		if !ok || l.Name != "sweep" || l.Owner != "a" || l.Epoch != 1 || l.Until.Before(before.Add(long)) || l.Until.After(time.Now().Add(long)) {
			f.Fatalf(`got %+v %v; want ok, Name "sweep", Owner "a", Epoch 1, Until not before %+v, Until not after %+v`, l, ok, before.Add(long),
				time.Now().Add(long))
		}
		for name, want := range map[string]time.Duration{"sweep": long, "sweep 1": 0} {
			left, err := f.l.JobLeft(f.ctx, name)
			f.ok(err)
			if left > want || left < want/2 {
				f.Errorf("%s is left for %s, want %s or a little less", name, left, want)
			}
		}
		for _, owner := range []string{"a", "b"} {
			if got, ok := f.job("sweep", owner, long); ok {
				f.Errorf("%s acquired a job that runs: %+v; want not ok", owner, got)
			}
		}
		if _, ok := f.job("import 1", "b", long); !ok {
			f.Error("another job is another lease")
		}
	}},
	{"AJobOfManyAskersGoesToOne", func(f *fixture) {
		var got atomic.Int64
		var asking sync.WaitGroup
		for i := range 8 {
			asking.Go(func() {
				_, ok, err := f.l.AcquireJob(f.ctx, "cron spring", fmt.Sprint("owner ", i), long)
				if err != nil {
					f.Error(err)
				}
				if ok {
					got.Add(1)
				}
			})
		}
		asking.Wait()
		if got.Load() != 1 {
			f.Errorf("%d of 8 acquired it; want got.Load() 1", got.Load())
		}
	}},
	{"AReleasedJobIsFreeAtOnceAndFenced", func(f *fixture) {
		a, _ := f.job("sweep", "a", long)
		f.ok(f.l.ReleaseJob(f.ctx, a))
		if left, err := f.l.JobLeft(f.ctx, "sweep"); err != nil || left != 0 {
			f.Errorf("a released job is left for %s, %v; want 0", left, err)
		}
		if _, err := f.l.RenewJob(f.ctx, a, long); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("renewed after the release: %v, want ErrFenced", err)
		}
		b, ok := f.job("sweep", "b", long)
		if !ok || b.Epoch <= a.Epoch {
			f.Fatalf("got %+v %v; want ok, Epoch above %d", b, ok, a.Epoch)
		}
		f.ok(f.l.ReleaseJob(f.ctx, a)) // the lease is lost, so this changes nothing
		if _, ok := f.job("sweep", "c", long); ok {
			f.Error("a lease was ended by somebody who had lost it")
		}
	}},
	{"AnExpiredJobIsTakenOverAndItsOwnerFenced", func(f *fixture) {
		a, _ := f.job("sweep", "a", gone)
		b, ok := f.job("sweep", "a", long) // the same owner's name after a restart
		if !ok || b.Epoch != a.Epoch+1 {
			f.Fatalf("got %+v %v; want ok, Epoch %+v", b, ok, a.Epoch+1)
		}
		if _, err := f.l.RenewJob(f.ctx, a, long); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("the old life renewed: %v, want ErrFenced", err)
		}
		if _, err := f.l.RenewJob(f.ctx, b, long); err != nil {
			f.Error(err)
		}
	}},
	{"AJobObeysItsOwnerOfItsEpochOnly", func(f *fixture) {
		a, _ := f.job("sweep", "a", long)
		for _, other := range []campaign.JobLease{
			{Name: "sweep", Owner: "b", Epoch: a.Epoch}, {Name: "sweep", Owner: "a", Epoch: a.Epoch + 1},
			{Name: "import", Owner: "a", Epoch: a.Epoch},
		} {
			if _, err := f.l.RenewJob(f.ctx, other, long); !errors.Is(err, campaign.ErrFenced) {
				f.Errorf("%s renewed epoch %d of %s: %v, want ErrFenced", other.Owner, other.Epoch, other.Name, err)
			}
			f.ok(f.l.ReleaseJob(f.ctx, other))
		}
		if b, ok := f.job("sweep", "b", long); ok {
			f.Errorf("b acquired epoch %d, want the lease to be a's still", b.Epoch)
		}
	}},
	{"RenewProlongsAJobThatNobodyTook", func(f *fixture) {
		a, _ := f.job("sweep", "a", gone)
		before := time.Now()
		a, err := f.l.RenewJob(f.ctx, a, long)
		f.ok(err)
		if a.Until.Before(before.Add(long)) {
			f.Errorf("until %s; want Until not before %+v", a.Until, before.Add(long))
		}
		if _, ok := f.job("sweep", "b", long); ok {
			f.Error("acquired although it was renewed")
		}
		if _, err := f.l.RenewJob(f.ctx, campaign.JobLease{Name: "nobody's", Owner: "a", Epoch: 1}, long); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("renewed a job that was never acquired: %v; want ErrFenced", err)
		}
	}},
	{"AFiringIsOneRunWhateverItsList", func(f *fixture) {
		firing := campaign.FiringKey + "2026-03-02T09:00"
		a, err := f.l.CreateRun(f.ctx, campaign.Run{Campaign: "spring", ListHash: "aa", Launch: firing})
		f.ok(err)
		b, err := f.l.CreateRun(f.ctx, campaign.Run{Campaign: "spring", ListHash: "changed", Launch: firing})
		if !errors.Is(err, campaign.ErrRunExists) || b.No != a.No || b.ListHash != "aa" {
			f.Errorf(`the same firing with a changed list: run %d, %v; want ErrRunExists, No %+v, ListHash "aa"`, b.No, err, a.No)
		}
		for _, r := range []campaign.Run{{Campaign: "spring", ListHash: "aa", Launch: firing + "+1"},
			{Campaign: "summer", ListHash: "aa", Launch: firing}} {
			if c, err := f.l.CreateRun(f.ctx, r); err != nil || c.No == a.No {
				f.Errorf("another firing, or another campaign's: run %d, %v; want no error, No other than %+v", c.No, err, a.No)
			}
		}
	}},
}
