"""The public names that a cell may read on objects of each class, chosen one by one."""

from __future__ import annotations

#: "module:class" -> names. Whatever a newer version adds stays closed until it is listed.
NAMES: dict[str, str] = {
    "pandas:DataFrame": (
        "T abs add add_prefix add_suffix agg aggregate align all any apply asfreq asof assign astype at "
        "at_time attrs axes between_time bfill boxplot clip columns combine combine_first compare "
        "convert_dtypes copy corr corrwith count cov cummax cummin cumprod cumsum describe diff div divide "
        "dot drop drop_duplicates droplevel dropna dtypes duplicated empty eq equals eval ewm expanding "
        "explode ffill fillna filter first_valid_index floordiv from_dict from_records ge get groupby gt head "
        "hist iat idxmax idxmin iloc index infer_objects info insert interpolate isetitem isin isna isnull "
        "items iterrows itertuples join keys kurt kurtosis last_valid_index le loc lt map mask max mean "
        "median melt memory_usage merge min mod mode mul multiply ndim ne nlargest notna notnull nsmallest "
        "nunique pct_change pipe pivot pivot_table plot pop pow prod product quantile query radd rank rdiv "
        "reindex reindex_like rename rename_axis reorder_levels replace resample reset_index rfloordiv rmod "
        "rmul rolling round rpow rsub rtruediv sample select select_dtypes sem set_axis set_flags set_index "
        "shape shift size skew sort_index sort_values squeeze stack std sub subtract sum swaplevel tail take "
        "to_csv to_dict to_html to_json to_latex to_numpy to_period to_records to_string to_timestamp transform "
        "transpose truediv truncate tz_convert tz_localize unstack value_counts values var where xs"
    ),
    "pandas:Series": (
        "T abs add add_prefix add_suffix agg aggregate align all any apply argmax argmin argsort asfreq asof "
        "astype at at_time attrs autocorr axes between between_time bfill case_when cat clip combine "
        "combine_first compare convert_dtypes copy corr count cov cummax cummin cumprod cumsum describe diff "
        "div divide divmod dot drop drop_duplicates droplevel dropna dt dtype dtypes duplicated empty eq "
        "equals ewm expanding explode factorize ffill fillna filter first_valid_index floordiv ge get groupby "
        "gt hasnans head hist iat idxmax idxmin iloc index infer_objects info interpolate "
        "is_monotonic_decreasing is_monotonic_increasing is_unique isin isna isnull item items keys kurt "
        "kurtosis last_valid_index le loc lt map mask max mean median memory_usage min mod mode mul multiply "
        "name nbytes ndim ne nlargest notna notnull nsmallest nunique pct_change pipe plot pop pow prod "
        "product quantile radd rank rdiv rdivmod reindex reindex_like rename rename_axis reorder_levels "
        "repeat replace resample reset_index rfloordiv rmod rmul rolling round rpow rsub rtruediv sample "
        "searchsorted sem set_axis set_flags shape shift size skew sort_index sort_values squeeze std str sub "
        "subtract sum swaplevel tail take to_csv to_dict to_frame to_json to_latex to_list to_numpy to_period "
        "to_string to_timestamp tolist transform transpose truediv truncate tz_convert tz_localize unique "
        "unstack value_counts values var where xs"
    ),
    "numpy:ndarray": (
        "T all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy cumprod "
        "cumsum diagonal dot dtype fill flat flatten imag item itemsize mT max mean min nbytes ndim nonzero "
        "partition prod put ravel real repeat reshape round searchsorted shape size sort squeeze std sum "
        "swapaxes take tobytes tolist trace transpose var view"
    ),
    "numpy:float64": (
        "T all any argmax argmin argsort as_integer_ratio astype choose clip compress conj conjugate copy "
        "cumprod cumsum diagonal dtype fill flat flatten fromhex hex imag is_integer item itemsize max mean "
        "min nbytes ndim nonzero prod put ravel real repeat reshape round searchsorted shape size sort "
        "squeeze std sum swapaxes take tobytes tolist trace transpose var"
    ),
    "numpy:int64": (
        "T all any argmax argmin argsort astype bit_count choose clip compress conj conjugate copy cumprod "
        "cumsum denominator diagonal dtype fill flat flatten imag is_integer item itemsize max mean min "
        "nbytes ndim nonzero numerator prod put ravel real repeat reshape round searchsorted shape size sort "
        "squeeze std sum swapaxes take tobytes tolist trace transpose var"
    ),
    "numpy:bool": (
        "T all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod cumsum "
        "diagonal dtype fill flat flatten imag item itemsize max mean min nbytes ndim nonzero prod put ravel "
        "real repeat reshape round searchsorted shape size sort squeeze std sum swapaxes take tobytes tolist "
        "trace transpose var"
    ),
    "numpy:str_": (
        "T all any argmax argmin argsort astype capitalize casefold center choose clip compress conj "
        "conjugate copy count cumprod cumsum diagonal dtype encode endswith expandtabs fill find flat flatten "
        "format format_map imag index isalnum isalpha isascii isdecimal isdigit isidentifier islower "
        "isnumeric isprintable isspace istitle isupper item itemsize join ljust lower lstrip maketrans max "
        "mean min nbytes ndim nonzero partition prod put ravel real removeprefix removesuffix repeat replace "
        "reshape rfind rindex rjust round rpartition rsplit rstrip searchsorted shape size sort split "
        "splitlines squeeze startswith std strip sum swapaxes swapcase take title tobytes tolist trace "
        "translate transpose upper var zfill"
    ),
    "numpy:datetime64": (
        "T all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod cumsum "
        "diagonal dtype fill flat flatten imag item itemsize max mean min nbytes ndim nonzero prod put ravel "
        "real repeat reshape round searchsorted shape size sort squeeze std sum swapaxes take tobytes tolist "
        "trace transpose var"
    ),
    "numpy:timedelta64": (
        "T all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod cumsum "
        "denominator diagonal dtype fill flat flatten imag is_integer item itemsize max mean min nbytes ndim "
        "nonzero numerator prod put ravel real repeat reshape round searchsorted shape size sort squeeze std "
        "sum swapaxes take tobytes tolist trace transpose var"
    ),
    "numpy.random._generator:Generator": (
        "beta binomial bit_generator bytes chisquare choice dirichlet exponential f gamma geometric gumbel "
        "hypergeometric integers laplace logistic lognormal logseries multinomial multivariate_hypergeometric "
        "multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto permutation permuted "
        "poisson power random rayleigh shuffle spawn standard_cauchy standard_exponential standard_gamma "
        "standard_normal standard_t triangular uniform vonmises wald weibull zipf"
    ),
    "numpy.random.mtrand:RandomState": (
        "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric get_state gumbel "
        "hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal "
        "negative_binomial noncentral_chisquare noncentral_f normal pareto permutation poisson power rand "
        "randint randn random random_integers random_sample rayleigh seed shuffle standard_cauchy "
        "standard_exponential standard_gamma standard_normal standard_t tomaxint triangular uniform vonmises "
        "wald weibull zipf"
    ),
    "numpy:poly1d": "c coef coefficients coeffs deriv integ o order r roots variable",
    "numpy:ufunc": (
        "accumulate at identity nargs nin nout ntypes outer reduce reduceat resolve_dtypes signature types"
    ),
    "numpy.ma:MaskedArray": (
        "T all anom any argmax argmin argpartition argsort astype choose clip compress compressed conj "
        "conjugate copy count cumprod cumsum diagonal dot dtype fill fill_value filled flat flatten "
        "get_fill_value get_imag get_real harden_mask hardmask imag iscontiguous item itemsize mT mask "
        "max mean min nbytes ndim nonzero partition prod product ptp put ravel real recordmask repeat reshape "
        "round searchsorted set_fill_value shape sharedmask shrink_mask size soften_mask sort squeeze std sum "
        "swapaxes take tobytes toflex tolist torecords trace transpose unshare_mask var"
    ),
    "numpy:finfo": (
        "bits dtype eps epsneg iexp machep max maxexp min minexp negep nexp nmant precision resolution "
        "smallest_normal smallest_subnormal tiny"
    ),
    "numpy:iinfo": "bits dtype key kind max min",
    "numpy:flatiter": "coords copy index",
    "pandas:RangeIndex": (
        "T all any append argmax argmin argsort asof asof_locs astype copy delete diff difference drop "
        "drop_duplicates droplevel dropna dtype duplicated empty equals factorize fillna from_range "
        "get_indexer get_indexer_for get_indexer_non_unique get_level_values get_loc get_slice_bound groupby "
        "has_duplicates hasnans identical infer_objects inferred_type insert intersection is_ "
        "is_monotonic_decreasing is_monotonic_increasing is_unique isin isna isnull item join map max "
        "memory_usage min name names nbytes ndim nlevels notna notnull nunique putmask ravel reindex rename "
        "repeat replace round searchsorted set_names shape shift size slice_indexer slice_locs sort_values "
        "sortlevel start step stop str symmetric_difference take to_flat_index to_frame to_list to_numpy "
        "to_series tolist transpose union unique value_counts values where"
    ),
    "pandas:Index": (
        "T all any append argmax argmin argsort asof asof_locs astype copy delete diff difference drop "
        "drop_duplicates droplevel dropna dtype duplicated empty equals factorize fillna get_indexer "
        "get_indexer_for get_indexer_non_unique get_level_values get_loc get_slice_bound groupby "
        "has_duplicates hasnans identical infer_objects inferred_type insert intersection is_ "
        "is_monotonic_decreasing is_monotonic_increasing is_unique isin isna isnull item join map max "
        "memory_usage min name names nbytes ndim nlevels notna notnull nunique putmask ravel reindex rename "
        "repeat replace round searchsorted set_names shape shift size slice_indexer slice_locs sort_values "
        "sortlevel str symmetric_difference take to_flat_index to_frame to_list to_numpy to_series tolist "
        "transpose union unique value_counts values where"
    ),
    "pandas:DatetimeIndex": (
        "T all any append argmax argmin argsort as_unit asi8 asof asof_locs astype ceil copy date day "
        "day_name day_of_week day_of_year dayofweek dayofyear days_in_month daysinmonth delete diff "
        "difference drop drop_duplicates droplevel dropna dtype duplicated empty equals factorize fillna "
        "floor freq freqstr get_indexer get_indexer_for get_indexer_non_unique get_level_values get_loc "
        "get_slice_bound groupby has_duplicates hasnans hour identical indexer_at_time indexer_between_time "
        "infer_objects inferred_freq inferred_type insert intersection is_ is_leap_year "
        "is_monotonic_decreasing is_monotonic_increasing is_month_end is_month_start is_normalized "
        "is_quarter_end is_quarter_start is_unique is_year_end is_year_start isin isna isnull isocalendar "
        "item join map max mean memory_usage microsecond min minute month month_name name names nanosecond "
        "nbytes ndim nlevels normalize notna notnull nunique putmask quarter ravel reindex rename repeat "
        "replace resolution round searchsorted second set_names shape shift size slice_indexer slice_locs "
        "snap sort_values sortlevel std str strftime symmetric_difference take time timetz to_flat_index "
        "to_frame to_julian_date to_list to_numpy to_period to_pydatetime to_series tolist transpose tz "
        "tz_convert tz_localize tzinfo union unique unit value_counts values weekday where year"
    ),
    "pandas:MultiIndex": (
        "T all any append argmax argmin argsort asof asof_locs astype copy delete diff difference drop "
        "drop_duplicates droplevel dropna dtype dtypes duplicated empty equal_levels equals factorize fillna "
        "from_arrays from_frame from_product from_tuples get_indexer get_indexer_for get_indexer_non_unique "
        "get_level_values get_loc get_loc_level get_locs get_slice_bound groupby has_duplicates hasnans "
        "identical infer_objects inferred_type insert intersection is_ is_monotonic_decreasing "
        "is_monotonic_increasing is_unique isin isna isnull item join levels levshape map max memory_usage "
        "min name names nbytes ndim nlevels notna notnull nunique putmask ravel reindex remove_unused_levels "
        "rename reorder_levels repeat replace round searchsorted set_codes set_levels set_names shape shift "
        "size slice_indexer slice_locs sort_values sortlevel sortorder str swaplevel symmetric_difference "
        "take to_flat_index to_frame to_list to_numpy to_series tolist transpose truncate union unique "
        "value_counts values where"
    ),
    "pandas:CategoricalIndex": (
        "T add_categories all any append argmax argmin argsort as_ordered as_unordered asof asof_locs astype "
        "categories copy delete diff difference drop drop_duplicates droplevel dropna dtype duplicated empty "
        "equals factorize fillna get_indexer get_indexer_for get_indexer_non_unique get_level_values get_loc "
        "get_slice_bound groupby has_duplicates hasnans identical infer_objects inferred_type insert "
        "intersection is_ is_monotonic_decreasing is_monotonic_increasing is_unique isin isna isnull item "
        "join map max memory_usage min name names nbytes ndim nlevels notna notnull nunique ordered putmask "
        "ravel reindex remove_categories remove_unused_categories rename rename_categories reorder_categories "
        "repeat replace round searchsorted set_categories set_names shape shift size slice_indexer slice_locs "
        "sort_values sortlevel str symmetric_difference take to_flat_index to_frame to_list to_numpy "
        "to_series tolist transpose union unique value_counts values where"
    ),
    "pandas:TimedeltaIndex": (
        "T all any append argmax argmin argsort as_unit asi8 asof asof_locs astype ceil components copy days "
        "delete diff difference drop drop_duplicates droplevel dropna dtype duplicated empty equals factorize "
        "fillna floor freq freqstr get_indexer get_indexer_for get_indexer_non_unique get_level_values "
        "get_loc get_slice_bound groupby has_duplicates hasnans identical infer_objects inferred_freq "
        "inferred_type insert intersection is_ is_monotonic_decreasing is_monotonic_increasing is_unique isin "
        "isna isnull item join map max mean median memory_usage microseconds min name names nanoseconds "
        "nbytes ndim nlevels notna notnull nunique putmask ravel reindex rename repeat replace resolution "
        "round searchsorted seconds set_names shape shift size slice_indexer slice_locs sort_values sortlevel "
        "std str sum symmetric_difference take to_flat_index to_frame to_list to_numpy to_pytimedelta "
        "to_series tolist total_seconds transpose union unique unit value_counts values where"
    ),
    "pandas:PeriodIndex": (
        "T all any append argmax argmin argsort asfreq asi8 asof asof_locs astype copy day day_of_week "
        "day_of_year dayofweek dayofyear days_in_month daysinmonth delete diff difference drop "
        "drop_duplicates droplevel dropna dtype duplicated empty end_time equals factorize fillna freq "
        "freqstr from_fields from_ordinals get_indexer get_indexer_for get_indexer_non_unique "
        "get_level_values get_loc get_slice_bound groupby has_duplicates hasnans hour identical infer_objects "
        "inferred_type insert intersection is_ is_full is_leap_year is_monotonic_decreasing "
        "is_monotonic_increasing is_unique isin isna isnull item join map max mean memory_usage min minute "
        "month name names nbytes ndim nlevels notna notnull nunique putmask quarter qyear ravel reindex "
        "rename repeat replace resolution round searchsorted second set_names shape shift size slice_indexer "
        "slice_locs sort_values sortlevel start_time str strftime symmetric_difference take to_flat_index "
        "to_frame to_list to_numpy to_series to_timestamp tolist transpose union unique value_counts values "
        "week weekday weekofyear where year"
    ),
    "pandas:IntervalIndex": (
        "T all any append argmax argmin argsort asof asof_locs astype closed closed_left closed_right "
        "contains copy delete diff difference drop drop_duplicates droplevel dropna dtype duplicated empty "
        "equals factorize fillna from_arrays from_breaks from_tuples get_indexer get_indexer_for "
        "get_indexer_non_unique get_level_values get_loc get_slice_bound groupby has_duplicates hasnans "
        "identical infer_objects inferred_type insert intersection is_ is_empty is_monotonic_decreasing "
        "is_monotonic_increasing is_non_overlapping_monotonic is_overlapping is_unique isin isna isnull item "
        "join left length map max memory_usage mid min name names nbytes ndim nlevels notna notnull nunique "
        "open_left open_right overlaps putmask ravel reindex rename repeat replace right round searchsorted "
        "set_closed set_names shape shift size slice_indexer slice_locs sort_values sortlevel str "
        "symmetric_difference take to_flat_index to_frame to_list to_numpy to_series to_tuples tolist "
        "transpose union unique value_counts values where"
    ),
    "pandas.api.typing:DataFrameGroupBy": (
        "agg aggregate all any apply bfill boxplot corr corrwith count cov cumcount cummax cummin cumprod "
        "cumsum describe diff ewm expanding ffill filter first get_group groups head hist idxmax idxmin "
        "indices keys kurt last level max mean median min ndim ngroup ngroups nth nunique ohlc pct_change "
        "pipe plot prod quantile rank resample rolling sample sem shift size skew std sum tail take transform "
        "value_counts var"
    ),
    "pandas.api.typing:SeriesGroupBy": (
        "agg aggregate all any apply bfill corr count cov cumcount cummax cummin cumprod cumsum describe diff "
        "dtype ewm expanding ffill filter first get_group groups head hist idxmax idxmin indices "
        "is_monotonic_decreasing is_monotonic_increasing keys kurt last level max mean median min ndim ngroup "
        "ngroups nlargest nsmallest nth nunique ohlc pct_change pipe plot prod quantile rank resample rolling "
        "sample sem shift size skew std sum tail take transform unique value_counts var"
    ),
    "pandas.api.typing:Rolling": (
        "agg aggregate apply center closed corr count cov exclusions first kurt last max mean median method "
        "min min_periods ndim nunique obj on pipe quantile rank sem skew std step sum var win_type window"
    ),
    "pandas.api.typing:Expanding": (
        "agg aggregate apply center closed corr count cov exclusions first kurt last max mean median method "
        "min min_periods ndim nunique obj on pipe quantile rank sem skew std step sum var win_type window"
    ),
    "pandas.api.typing:ExponentialMovingWindow": (
        "adjust agg aggregate alpha center closed com corr cov exclusions halflife ignore_na mean method "
        "min_periods ndim obj on online span std step sum times var win_type window"
    ),
    "pandas.core.resample:DatetimeIndexResampler": (
        "agg aggregate apply asfreq ax bfill binner count exclusions ffill first get_group groups indices "
        "interpolate keys last level max mean median min ndim nearest ngroups nunique ohlc pipe prod quantile "
        "sem size std sum transform var"
    ),
    "pandas.api.typing:RollingGroupBy": (
        "agg aggregate apply center closed corr count cov exclusions first kurt last max mean median method "
        "min min_periods ndim nunique obj on pipe quantile rank sem skew std step sum var win_type window"
    ),
    "pandas.core.indexing:_LocIndexer": "axis name ndim obj",
    "pandas.core.indexing:_iLocIndexer": "axis name ndim obj",
    "pandas.core.indexing:_AtIndexer": "name ndim obj",
    "pandas.core.indexing:_iAtIndexer": "name ndim obj",
    "pandas.core.strings.accessor:StringMethods": (
        "capitalize casefold cat center contains count decode encode endswith extract extractall find findall "
        "fullmatch get get_dummies index isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace "
        "istitle isupper join len ljust lower lstrip match normalize pad partition removeprefix removesuffix "
        "repeat replace rfind rindex rjust rpartition rsplit rstrip slice slice_replace split startswith "
        "strip swapcase title translate upper wrap zfill"
    ),
    "pandas.core.indexes.accessors:DatetimeProperties": (
        "as_unit ceil date day day_name day_of_week day_of_year dayofweek dayofyear days_in_month daysinmonth "
        "floor freq hour is_leap_year is_month_end is_month_start is_quarter_end is_quarter_start is_year_end "
        "is_year_start isocalendar microsecond minute month month_name nanosecond normalize quarter round "
        "second strftime time timetz to_period to_pydatetime tz tz_convert tz_localize unit weekday year"
    ),
    "pandas.core.indexes.accessors:TimedeltaProperties": (
        "as_unit ceil components days floor freq microseconds nanoseconds round seconds to_pytimedelta "
        "total_seconds unit"
    ),
    "pandas.core.arrays.categorical:CategoricalAccessor": (
        "add_categories as_ordered as_unordered categories codes index name ordered remove_categories "
        "remove_unused_categories rename_categories reorder_categories set_categories"
    ),
    "pandas.plotting:PlotAccessor": "area bar barh box density hexbin hist kde line pie scatter",
    "pandas:Timestamp": (
        "as_unit asm8 astimezone ceil combine ctime date day day_name day_of_week day_of_year dayofweek "
        "dayofyear days_in_month daysinmonth dst floor fold fromisocalendar fromisoformat fromordinal "
        "fromtimestamp hour is_leap_year is_month_end is_month_start is_quarter_end is_quarter_start "
        "is_year_end is_year_start isocalendar isoformat isoweekday max microsecond min minute month "
        "month_name nanosecond normalize now quarter replace resolution round second strftime strptime time "
        "timestamp timetuple timetz to_datetime64 to_julian_date to_numpy to_period to_pydatetime today "
        "toordinal tz tz_convert tz_localize tzinfo tzname unit utcfromtimestamp utcnow utcoffset "
        "utctimetuple value week weekday weekofyear year"
    ),
    "pandas:Timedelta": (
        "as_unit asm8 ceil components days floor isoformat max microseconds min nanoseconds resolution "
        "resolution_string round seconds to_numpy to_pytimedelta to_timedelta64 total_seconds unit value"
    ),
    "pandas:Period": (
        "asfreq day day_of_week day_of_year dayofweek dayofyear days_in_month daysinmonth end_time freq "
        "freqstr hour is_leap_year minute month now ordinal quarter qyear second start_time strftime "
        "to_timestamp week weekday weekofyear year"
    ),
    "pandas:Interval": "closed closed_left closed_right is_empty left length mid open_left open_right overlaps right",
    "pandas.api.typing:NaTType": (
        "as_unit asm8 astimezone ceil combine ctime date day day_name day_of_week day_of_year dayofweek "
        "dayofyear days days_in_month daysinmonth dst floor fold fromisocalendar fromisoformat fromordinal "
        "fromtimestamp hour is_leap_year is_month_end is_month_start is_quarter_end is_quarter_start "
        "is_year_end is_year_start isocalendar isoformat isoweekday max microsecond microseconds millisecond "
        "min minute month month_name nanosecond nanoseconds now quarter qyear replace resolution round second "
        "seconds strftime strptime time timestamp timetuple timetz to_datetime64 to_numpy to_pydatetime today "
        "toordinal total_seconds tz tz_convert tz_localize tzinfo tzname utcfromtimestamp utcnow utcoffset "
        "utctimetuple value week weekday weekofyear year"
    ),
    "pandas.api.typing:NAType": "",
    "pandas._libs.tslibs.offsets:MonthEnd": (
        "copy freqstr is_month_end is_month_start is_on_offset is_quarter_end is_quarter_start is_year_end "
        "is_year_start kwds n name nanos normalize rollback rollforward rule_code"
    ),
    "pandas._libs.tslibs.offsets:Day": (
        "copy freqstr is_month_end is_month_start is_on_offset is_quarter_end is_quarter_start is_year_end "
        "is_year_start kwds n name nanos normalize rollback rollforward rule_code"
    ),
    "pandas:CategoricalDtype": (
        "categories empty is_dtype isbuiltin isnative itemsize kind na_value name names "
        "num ordered shape str subdtype update_dtype validate_categories validate_ordered"
    ),
    "pandas:Int64Dtype": (
        "construct_from_string empty from_numpy_dtype is_dtype is_signed_integer is_unsigned_integer itemsize "
        "kind na_value name names numpy_dtype"
    ),
    "pandas:StringDtype": "construct_from_string empty is_dtype kind na_value name names storage",
    "pandas:DatetimeTZDtype": (
        "construct_from_string empty is_dtype isbuiltin isnative itemsize kind na_value name names num "
        "reset_cache shape str subdtype tz unit"
    ),
    "pandas:Categorical": (
        "T add_categories argmax argmin argsort as_ordered as_unordered astype categories check_for_ordered codes "
        "copy count delete describe dropna dtype duplicated equals factorize fillna from_codes insert "
        "interpolate isin isna isnull item map max memory_usage min nbytes ndim notna notnull ordered ravel "
        "remove_categories remove_unused_categories rename_categories reorder_categories repeat reshape round "
        "searchsorted set_categories set_ordered shape shift size sort sort_values swapaxes take to_numpy "
        "tolist transpose unique value_counts"
    ),
    "pandas.arrays:IntegerArray": (
        "T all any argmax argmin argsort astype copy count delete dropna dtype duplicated equals factorize "
        "fillna insert interpolate isin isna item kurt map max mean median min nbytes ndim prod ravel repeat "
        "reshape round searchsorted sem shape shift size skew sort std sum swapaxes take to_numpy tolist "
        "transpose unique value_counts var"
    ),
    "pandas.arrays:BooleanArray": (
        "T all any argmax argmin argsort astype copy count delete dropna dtype duplicated equals factorize "
        "fillna insert interpolate isin isna item kurt map max mean median min nbytes ndim prod ravel repeat "
        "reshape round searchsorted sem shape shift size skew sort std sum swapaxes take to_numpy tolist "
        "transpose unique value_counts var"
    ),
    "pandas.arrays:FloatingArray": (
        "T all any argmax argmin argsort astype copy count delete dropna dtype duplicated equals factorize "
        "fillna insert interpolate isin isna item kurt map max mean median min nbytes ndim prod ravel repeat "
        "reshape round searchsorted sem shape shift size skew sort std sum swapaxes take to_numpy tolist "
        "transpose unique value_counts var"
    ),
    "pandas.arrays:ArrowStringArray": (
        "T all any argmax argmin argsort astype copy count delete dropna dtype duplicated equals factorize "
        "fillna insert interpolate isin isna item kurt map max mean median min nbytes ndim prod ravel repeat "
        "reshape round searchsorted sem shape shift size skew sort std sum take to_numpy tolist transpose "
        "unique value_counts var"
    ),
    "pandas.arrays:DatetimeArray": (
        "T all any argmax argmin argsort as_unit asi8 astype ceil copy count date day day_name day_of_week "
        "day_of_year dayofweek dayofyear days_in_month daysinmonth delete dropna dtype duplicated equals "
        "factorize fillna floor hour inferred_freq insert interpolate is_leap_year is_month_end "
        "is_month_start is_normalized is_quarter_end is_quarter_start is_year_end is_year_start isin isna "
        "isocalendar item map max mean median microsecond min minute month month_name nanosecond nbytes ndim "
        "normalize quarter ravel repeat reshape round searchsorted second shape shift size sort std strftime "
        "swapaxes take time timetz to_julian_date to_numpy to_period to_pydatetime tolist transpose tz "
        "tz_convert tz_localize tzinfo unique unit value_counts weekday year"
    ),
    "pandas.arrays:NumpyExtensionArray": (
        "T all any argmax argmin argsort astype copy count delete dropna dtype duplicated equals factorize "
        "fillna insert interpolate isin isna item kurt map max mean median min nbytes ndim prod ravel repeat "
        "reshape round searchsorted sem shape shift size skew sort std sum swapaxes take to_numpy tolist "
        "transpose unique value_counts var"
    ),
    "pandas:Grouper": "binner dropna freq key level sort",
    "pandas:NamedAgg": "aggfunc args column kwargs",
    "mpl_toolkits.mplot3d.axes3d:Axes3D": (
        "M acorr add_artist add_collection add_collection3d add_container add_contour_set "
        "add_contourf_set add_image add_line add_patch add_table angle_spectrum annotate apply_aspect arrow "
        "artists auto_scale_xyz autoscale autoscale_view axes axhline axhspan axis axison axline axvline "
        "axvspan azim bar bar3d bar_label barbs barh bbox boxplot broken_barh bxp "
        "child_axes cla clabel clear clipbox cohere collections computed_zorder containers "
        "contains_point contour contour3D contourf contourf3D convert_xunits convert_yunits convert_zunits "
        "csd dataLim draw ecdf elev errorbar eventplot figure fill "
        "fill_between fill_betweenx fmt_xdata fmt_ydata fmt_zdata format_coord format_xdata format_ydata "
        "format_zdata get_adjustable get_alpha get_anchor get_animated get_aspect get_autoscale_on "
        "get_autoscalex_on get_autoscaley_on get_autoscalez_on get_axes_locator get_axis_position "
        "get_axisbelow get_box_aspect get_children get_clip_box get_clip_on get_clip_path get_data_ratio "
        "get_default_bbox_extra_artists get_facecolor get_fc get_figure "
        "get_frame_on get_gridspec get_images get_in_layout get_label get_legend get_legend_handles_labels "
        "get_lines get_path_effects get_position "
        "get_proj get_rasterization_zorder get_rasterized get_shared_x_axes get_shared_y_axes "
        "get_sketch_params get_snap get_subplotspec get_tightbbox get_title get_transform "
        "get_transformed_clip_path_and_affine get_visible get_w_lims get_window_extent get_xaxis "
        "get_xaxis_text1_transform get_xaxis_text2_transform get_xaxis_transform get_xbound get_xgridlines "
        "get_xinverted get_xlabel get_xlim get_xlim3d get_xmajorticklabels get_xmargin get_xminorticklabels "
        "get_xscale get_xticklabels get_xticklines get_xticks get_yaxis get_yaxis_text1_transform "
        "get_yaxis_text2_transform get_yaxis_transform get_ybound get_ygridlines get_yinverted get_ylabel "
        "get_ylim get_ylim3d get_ymajorticklabels get_ymargin get_yminorticklabels get_yscale get_yticklabels "
        "get_yticklines get_yticks get_zaxis get_zbound get_zgridlines get_zinverted get_zlabel get_zlim "
        "get_zlim3d get_zmajorticklabels get_zmargin get_zminorticklabels get_zorder get_zscale "
        "get_zticklabels get_zticklines get_zticks grid grouped_bar has_data have_units hexbin hist hist2d "
        "hlines ignore_existing_data_limits images imshow in_axes indicate_inset indicate_inset_zoom "
        "initial_azim initial_elev initial_roll inset_axes invM invert_xaxis invert_yaxis invert_zaxis "
        "is_transform_set label_outer legend legend_ lines locator_params loglog magnitude_spectrum margins "
        "matshow minorticks_off minorticks_on name patch patches pcolor pcolorfast pcolormesh "
        "phase_spectrum pie pie_label plot plot3D plot_surface plot_trisurf plot_wireframe psd "
        "quiver quiver3D quiverkey relim remove reset_position roll scatter scatter3D "
        "secondary_xaxis secondary_yaxis semilogx semilogy semilogz set set_adjustable set_alpha set_anchor "
        "set_animated set_aspect set_autoscale_on set_autoscalex_on set_autoscaley_on set_autoscalez_on "
        "set_axes_locator set_axis_off set_axis_on set_axisbelow set_box_aspect set_clip_box set_clip_on "
        "set_clip_path set_facecolor set_fc set_frame_on set_in_layout "
        "set_label set_path_effects set_position set_proj_type "
        "set_prop_cycle set_rasterization_zorder set_rasterized set_subplotspec set_title set_top_view "
        "set_transform set_visible set_xbound set_xinverted set_xlabel set_xlim set_xlim3d set_xmargin "
        "set_xscale set_xticklabels set_xticks set_ybound set_yinverted set_ylabel set_ylim set_ylim3d "
        "set_ymargin set_yscale set_yticklabels set_yticks set_zbound set_zinverted set_zlabel set_zlim "
        "set_zlim3d set_zmargin set_zorder set_zscale set_zticklabels set_zticks shareview sharex sharey "
        "sharez specgram spines spy stackplot stairs stale stem stem3D step streamplot table tables "
        "text text2D text3D texts tick_params ticklabel_format title titleOffsetTrans transAxes transData "
        "transLimits transScale tricontour tricontourf tripcolor triplot twinx twiny update_datalim "
        "use_sticky_edges viewLim view_init violin violinplot vlines voxels xaxis xaxis_date xaxis_inverted "
        "xcorr xy_dataLim xy_viewLim yaxis yaxis_date yaxis_inverted zaxis zaxis_date zaxis_inverted zorder "
        "zz_dataLim zz_viewLim"
    ),
    "matplotlib.projections.polar:PolarAxes": (
        "acorr add_artist add_collection add_container add_image add_line add_patch add_table "
        "angle_spectrum annotate apply_aspect arrow artists autoscale autoscale_view axes axesLim axhline "
        "axhspan axis axison axline axvline axvspan bar bar_label barbs barh bbox boxplot broken_barh bxp "
        "child_axes cla clabel clear clipbox cohere collections containers contains_point "
        "contour contourf convert_xunits convert_yunits csd dataLim draw ecdf errorbar "
        "eventplot figure fill fill_between fill_betweenx fmt_xdata fmt_ydata format_coord format_xdata "
        "format_ydata get_adjustable get_alpha get_anchor get_animated get_aspect get_autoscale_on "
        "get_autoscalex_on get_autoscaley_on get_axes_locator get_axisbelow get_box_aspect get_children "
        "get_clip_box get_clip_on get_clip_path get_data_ratio get_default_bbox_extra_artists get_facecolor "
        "get_fc get_figure get_frame_on get_gridspec get_images get_in_layout "
        "get_label get_legend get_legend_handles_labels get_lines "
        "get_path_effects get_position get_rasterization_zorder get_rasterized "
        "get_rlabel_position get_rmax get_rmin get_rorigin get_rsign get_shared_x_axes get_shared_y_axes "
        "get_sketch_params get_snap get_subplotspec get_theta_direction get_theta_offset get_thetamax "
        "get_thetamin get_tightbbox get_title get_transform get_transformed_clip_path_and_affine get_visible "
        "get_window_extent get_xaxis get_xaxis_text1_transform get_xaxis_text2_transform get_xaxis_transform "
        "get_xbound get_xgridlines get_xinverted get_xlabel get_xlim get_xmajorticklabels get_xmargin "
        "get_xminorticklabels get_xscale get_xticklabels get_xticklines get_xticks get_yaxis "
        "get_yaxis_text1_transform get_yaxis_text2_transform get_yaxis_transform get_ybound get_ygridlines "
        "get_yinverted get_ylabel get_ylim get_ymajorticklabels get_ymargin get_yminorticklabels get_yscale "
        "get_yticklabels get_yticklines get_yticks get_zorder grid grouped_bar has_data have_units hexbin "
        "hist hist2d hlines ignore_existing_data_limits images imshow in_axes indicate_inset "
        "indicate_inset_zoom inset_axes invert_xaxis invert_yaxis is_transform_set label_outer legend legend_ "
        "lines locator_params loglog magnitude_spectrum margins matshow minorticks_off minorticks_on name "
        "patch patches pcolor pcolorfast pcolormesh phase_spectrum pie pie_label plot psd quiver "
        "quiverkey relim remove reset_position scatter secondary_xaxis secondary_yaxis "
        "semilogx semilogy set set_adjustable set_alpha set_anchor set_animated set_aspect set_autoscale_on "
        "set_autoscalex_on set_autoscaley_on set_axes_locator set_axis_off set_axis_on set_axisbelow "
        "set_box_aspect set_clip_box set_clip_on set_clip_path set_facecolor set_fc "
        "set_forward_navigation_events set_frame_on set_in_layout set_label "
        "set_path_effects set_position set_prop_cycle set_rasterization_zorder "
        "set_rasterized set_rgrids set_rlabel_position set_rlim set_rmax set_rmin set_rorigin set_rscale "
        "set_rticks set_subplotspec set_theta_direction set_theta_offset set_theta_zero_location "
        "set_thetagrids set_thetalim set_thetamax set_thetamin set_title set_transform set_visible set_xbound "
        "set_xinverted set_xlabel set_xlim set_xmargin set_xscale set_xticklabels set_xticks set_ybound "
        "set_yinverted set_ylabel set_ylim set_ymargin set_yscale set_yticklabels set_yticks set_zorder "
        "sharex sharey specgram spines spy stackplot stairs stale stem step streamplot table tables "
        "text texts tick_params ticklabel_format title titleOffsetTrans transAxes transData transProjection "
        "transProjectionAffine transScale transShift transWedge tricontour tricontourf tripcolor triplot "
        "twinx twiny update_datalim use_sticky_edges viewLim violin violinplot vlines xaxis xaxis_date "
        "xaxis_inverted xcorr yaxis yaxis_date yaxis_inverted zorder"
    ),
    "mpl_toolkits.mplot3d.art3d:Poly3DCollection": (
        "autoscale autoscale_None axes changed clipbox cmap colorbar convert_xunits convert_yunits "
        "do_3d_projection draw figure get_aa get_alpha get_animated get_antialiased get_antialiaseds "
        "get_array get_capstyle get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap "
        "get_dashes get_datalim get_ec get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc "
        "get_figure get_fill get_hatch get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle "
        "get_label get_linestyle get_linestyles get_linewidth get_linewidths get_ls get_lw "
        "get_offset_transform get_offsets get_path_effects get_paths get_rasterized "
        "get_sizes get_sketch_params get_snap get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_vector get_visible "
        "get_window_extent get_zorder have_units is_transform_set norm remove set set_3d_properties "
        "set_aa set_alpha set_animated set_antialiased set_antialiaseds set_array set_capstyle set_clim "
        "set_clip_box set_clip_on set_clip_path set_cmap set_color set_dashes set_ec set_edgecolor "
        "set_edgecolors set_facecolor set_facecolors set_fc set_hatch set_hatch_linewidth set_hatchcolor "
        "set_in_layout set_joinstyle set_label set_linestyle set_linestyles set_linewidth set_linewidths "
        "set_ls set_lw set_norm set_offset_transform set_offsets set_path_effects set_paths "
        "set_rasterized set_sizes set_sort_zpos set_transOffset set_transform "
        "set_verts set_verts_and_codes set_visible set_zorder set_zsort stale to_rgba update_scalarmappable "
        "zorder"
    ),
    "numpy.polynomial.polynomial:Polynomial": (
        "basis basis_name cast coef convert copy cutdeg degree deriv domain fit fromroots has_samecoef "
        "has_samedomain has_sametype has_samewindow identity integ linspace mapparms maxpower roots symbol "
        "trim truncate window"
    ),
    "matplotlib.container:BarContainer": (
        "bottoms count datavalues errorbar get_children get_label index orientation patches position_centers "
        "remove set_label stale tops"
    ),
    "matplotlib.collections:FillBetweenPolyCollection": (
        "autoscale autoscale_None axes changed clipbox cmap colorbar convert_xunits convert_yunits draw "
        "figure get_aa get_alpha get_animated get_antialiased get_antialiaseds get_array get_capstyle "
        "get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap get_dashes get_datalim get_ec "
        "get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc get_figure get_fill get_hatch "
        "get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label get_linestyle "
        "get_linestyles get_linewidth get_linewidths get_ls get_lw get_offset_transform "
        "get_offsets get_path_effects get_paths get_rasterized get_sizes "
        "get_sketch_params get_snap get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_visible get_window_extent "
        "get_zorder have_units is_transform_set norm remove set set_aa set_alpha set_animated "
        "set_antialiased set_antialiaseds set_array set_capstyle set_clim set_clip_box set_clip_on "
        "set_clip_path set_cmap set_color set_dashes set_data set_ec set_edgecolor set_edgecolors "
        "set_facecolor set_facecolors set_fc set_hatch set_hatch_linewidth set_hatchcolor set_in_layout "
        "set_joinstyle set_label set_linestyle set_linestyles set_linewidth set_linewidths set_ls set_lw "
        "set_norm set_offset_transform set_offsets set_path_effects set_paths "
        "set_rasterized set_sizes set_transOffset set_transform set_verts set_verts_and_codes "
        "set_visible set_zorder stale t_direction to_rgba update_scalarmappable zorder"
    ),
    "matplotlib.quiver:Quiver": (
        "N U Umask V X XY Y angles autoscale autoscale_None axes changed clipbox cmap colorbar convert_xunits "
        "convert_yunits draw figure get_aa get_alpha get_animated get_antialiased get_antialiaseds get_array "
        "get_capstyle get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap get_dashes "
        "get_datalim get_ec get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc get_figure "
        "get_fill get_hatch get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label "
        "get_linestyle get_linestyles get_linewidth get_linewidths get_ls get_lw "
        "get_offset_transform get_offsets get_path_effects get_paths get_rasterized "
        "get_sizes get_sketch_params get_snap get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_visible get_window_extent "
        "get_zorder have_units headaxislength headlength headwidth is_transform_set minlength minshaft norm "
        "pivot polykw remove scale scale_units set set_UVC set_aa set_alpha set_animated "
        "set_antialiased set_antialiaseds set_array set_capstyle set_clim set_clip_box set_clip_on "
        "set_clip_path set_cmap set_color set_dashes set_ec set_edgecolor set_edgecolors set_facecolor "
        "set_facecolors set_fc set_hatch set_hatch_linewidth set_hatchcolor set_in_layout set_joinstyle "
        "set_label set_linestyle set_linestyles set_linewidth set_linewidths set_ls set_lw "
        "set_norm set_offset_transform set_offsets set_path_effects set_paths set_rasterized "
        "set_sizes set_transOffset set_transform set_verts set_verts_and_codes set_visible "
        "set_zorder stale to_rgba transform units update_scalarmappable width zorder"
    ),
    "matplotlib.collections:QuadMesh": (
        "autoscale autoscale_None axes changed clipbox cmap colorbar convert_xunits convert_yunits draw "
        "figure get_aa get_alpha get_animated get_antialiased get_antialiaseds get_array get_capstyle "
        "get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap get_coordinates get_dashes "
        "get_datalim get_ec get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc get_figure "
        "get_fill get_hatch get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label "
        "get_linestyle get_linestyles get_linewidth get_linewidths get_ls get_lw "
        "get_offset_transform get_offsets get_path_effects get_paths get_rasterized "
        "get_sketch_params get_snap get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_visible get_window_extent "
        "get_zorder have_units is_transform_set norm remove set set_aa set_alpha set_animated "
        "set_antialiased set_antialiaseds set_array set_capstyle set_clim set_clip_box set_clip_on "
        "set_clip_path set_cmap set_color set_dashes set_ec set_edgecolor set_edgecolors set_facecolor "
        "set_facecolors set_fc set_hatch set_hatch_linewidth set_hatchcolor set_in_layout set_joinstyle "
        "set_label set_linestyle set_linestyles set_linewidth set_linewidths set_ls set_lw "
        "set_norm set_offset_transform set_offsets set_path_effects set_paths set_rasterized "
        "set_transOffset set_transform set_visible set_zorder stale to_rgba update_scalarmappable "
        "zorder"
    ),
    "matplotlib.table:Table": (
        "AXESPAD FONTSIZE add_cell auto_set_column_width auto_set_font_size axes clipbox convert_xunits "
        "convert_yunits draw edges figure get_alpha get_animated get_celld get_children get_clip_box "
        "get_clip_on get_clip_path get_figure get_in_layout get_label get_path_effects "
        "get_rasterized get_sketch_params get_snap get_tightbbox get_transform "
        "get_transformed_clip_path_and_affine get_visible get_window_extent get_zorder have_units "
        "is_transform_set remove scale set set_alpha set_animated set_clip_box set_clip_on "
        "set_clip_path set_fontsize set_in_layout set_label set_path_effects set_rasterized "
        "set_transform set_visible set_zorder stale zorder"
    ),
    "matplotlib.transforms:Bbox": (
        "anchored bounds containsx containsy corners count_contains count_overlaps expanded extents "
        "from_bounds from_extents frozen fully_contains fully_containsx fully_containsy fully_overlaps "
        "get_points height ignore intersection intervalx intervaly invalidate is_affine max min minpos "
        "minposx minposy mutated mutatedx mutatedy null overlaps p0 p1 padded pass_through rotated set "
        "set_children set_points shrunk shrunk_to_aspect size splitx splity transformed translated union unit "
        "update_from_data_x update_from_data_xy update_from_data_y update_from_path width x0 x1 xmax xmin y0 "
        "y1 ymax ymin"
    ),
    "pandas.api.indexers:BaseIndexer": "get_window_bounds index_array window_size",
    "pandas.core.groupby.groupby:GroupByPlot": "",
    "matplotlib.figure:Figure": (
        "add_artist add_axes add_gridspec add_subfigure add_subplot align_labels align_titles align_xlabels "
        "align_ylabels artists autofmt_xdate axes bbox bbox_inches canvas clear clf clipbox colorbar convert_xunits "
        "convert_yunits delaxes dpi dpi_scale_trans draw draw_without_rendering figbbox figimage figure "
        "frameon gca get_alpha get_animated get_axes get_children get_clip_box get_clip_on get_clip_path "
        "get_constrained_layout get_constrained_layout_pads get_default_bbox_extra_artists get_dpi "
        "get_edgecolor get_facecolor get_figheight get_figure get_figwidth get_frameon get_in_layout "
        "get_label get_layout_engine get_linewidth get_path_effects get_rasterized "
        "get_size_inches get_sketch_params get_snap get_suptitle get_supxlabel get_supylabel get_tight_layout "
        "get_tightbbox get_transform get_transformed_clip_path_and_affine get_visible get_window_extent "
        "get_zorder have_units images is_transform_set legend legends lines number patch patches "
        "remove savefig sca set set_alpha set_animated set_clip_box set_clip_on set_clip_path "
        "set_constrained_layout set_constrained_layout_pads set_dpi set_edgecolor set_facecolor set_figheight "
        "set_figwidth set_frameon set_in_layout set_label set_layout_engine set_linewidth "
        "set_path_effects set_rasterized set_size_inches set_tight_layout set_transform set_visible "
        "set_zorder stale subfigs subfigures subplot_mosaic subplotpars subplots subplots_adjust "
        "suppressComposite suptitle supxlabel supylabel text texts tight_layout transFigure transSubfigure "
        "zorder"
    ),
    "matplotlib.axes._axes:Axes": (
        "acorr add_artist add_collection add_container add_image add_line add_patch add_table "
        "angle_spectrum annotate apply_aspect arrow artists autoscale autoscale_view axes axhline axhspan "
        "axis axison axline axvline axvspan bar bar_label barbs barh bbox boxplot broken_barh bxp "
        "child_axes cla clabel clear clipbox cohere collections containers contains_point contour "
        "contourf convert_xunits convert_yunits csd dataLim draw ecdf errorbar eventplot "
        "figure fill fill_between fill_betweenx fmt_xdata fmt_ydata format_coord format_xdata format_ydata "
        "get_adjustable get_alpha get_anchor get_animated get_aspect get_autoscale_on get_autoscalex_on "
        "get_autoscaley_on get_axes_locator get_axisbelow get_box_aspect get_children get_clip_box "
        "get_clip_on get_clip_path get_data_ratio get_default_bbox_extra_artists get_facecolor get_fc "
        "get_figure get_frame_on get_gridspec get_images get_in_layout "
        "get_label get_legend get_legend_handles_labels get_lines "
        "get_path_effects get_position get_rasterization_zorder get_rasterized "
        "get_shared_x_axes get_shared_y_axes get_sketch_params get_snap get_subplotspec get_tightbbox "
        "get_title get_transform get_transformed_clip_path_and_affine get_visible get_window_extent get_xaxis "
        "get_xaxis_text1_transform get_xaxis_text2_transform get_xaxis_transform get_xbound get_xgridlines "
        "get_xinverted get_xlabel get_xlim get_xmajorticklabels get_xmargin get_xminorticklabels get_xscale "
        "get_xticklabels get_xticklines get_xticks get_yaxis get_yaxis_text1_transform "
        "get_yaxis_text2_transform get_yaxis_transform get_ybound get_ygridlines get_yinverted get_ylabel "
        "get_ylim get_ymajorticklabels get_ymargin get_yminorticklabels get_yscale get_yticklabels "
        "get_yticklines get_yticks get_zorder grid grouped_bar has_data have_units hexbin hist hist2d hlines "
        "ignore_existing_data_limits images imshow in_axes indicate_inset indicate_inset_zoom inset_axes "
        "invert_xaxis invert_yaxis is_transform_set label_outer left_ax legend legend_ lines locator_params loglog "
        "magnitude_spectrum margins matshow minorticks_off minorticks_on name patch patches pcolor pcolorfast "
        "pcolormesh phase_spectrum pie pie_label plot psd quiver quiverkey relim "
        "remove reset_position right_ax scatter secondary_xaxis secondary_yaxis semilogx semilogy set set_adjustable "
        "set_alpha set_anchor set_animated set_aspect set_autoscale_on set_autoscalex_on set_autoscaley_on "
        "set_axes_locator set_axis_off set_axis_on set_axisbelow set_box_aspect set_clip_box set_clip_on "
        "set_clip_path set_facecolor set_fc set_frame_on set_in_layout "
        "set_label set_path_effects set_position set_prop_cycle "
        "set_rasterization_zorder set_rasterized set_subplotspec set_title set_transform set_visible "
        "set_xbound set_xinverted set_xlabel set_xlim set_xmargin set_xscale set_xticklabels set_xticks "
        "set_ybound set_yinverted set_ylabel set_ylim set_ymargin set_yscale set_yticklabels set_yticks "
        "set_zorder sharex sharey specgram spines spy stackplot stairs stale stem step streamplot "
        "table tables text texts tick_params ticklabel_format title titleOffsetTrans transAxes transData "
        "transLimits transScale tricontour tricontourf tripcolor triplot twinx twiny update_datalim "
        "use_sticky_edges viewLim violin violinplot vlines xaxis xaxis_date xaxis_inverted xcorr yaxis "
        "yaxis_date yaxis_inverted zorder"
    ),
    "matplotlib.axis:XAxis": (
        "OFFSETTEXTPAD axes axis_date axis_name clear clipbox convert_units convert_xunits convert_yunits "
        "converter draw figure get_alpha get_animated get_children get_clip_box get_clip_on get_clip_path "
        "get_converter get_data_interval get_figure get_gridlines get_in_layout get_inverted get_label "
        "get_label_position get_label_text get_major_formatter get_major_locator get_major_ticks "
        "get_majorticklabels get_majorticklines get_majorticklocs get_minor_formatter get_minor_locator "
        "get_minor_ticks get_minorticklabels get_minorticklines get_minorticklocs get_minpos "
        "get_offset_text get_path_effects get_rasterized "
        "get_remove_overlapping_locs get_scale get_sketch_params get_snap get_tick_padding get_tick_params "
        "get_tick_space get_ticklabels get_ticklines get_ticklocs get_ticks_direction get_ticks_position "
        "get_tightbbox get_transform get_transformed_clip_path_and_affine get_units get_view_interval "
        "get_visible get_window_extent get_zorder grid have_units isDefault_label isDefault_majfmt "
        "isDefault_majloc isDefault_minfmt isDefault_minloc is_transform_set label label_position labelpad "
        "limit_range_for_scale major majorTicks minor minorTicks minorticks_off minorticks_on offsetText "
        "offset_text_position remove remove_overlapping_locs reset_ticks set set_alpha "
        "set_animated set_clip_box set_clip_on set_clip_path set_converter set_data_interval "
        "set_default_intervals set_in_layout set_inverted set_label set_label_coords set_label_position "
        "set_label_text set_major_formatter set_major_locator set_minor_formatter set_minor_locator "
        "set_path_effects set_rasterized set_remove_overlapping_locs "
        "set_tick_params set_ticklabels set_ticks set_ticks_position set_transform set_units "
        "set_view_interval set_visible set_zorder stale tick_bottom tick_top units update_units zorder"
    ),
    "matplotlib.axis:YAxis": (
        "OFFSETTEXTPAD axes axis_date axis_name clear clipbox convert_units convert_xunits convert_yunits "
        "converter draw figure get_alpha get_animated get_children get_clip_box get_clip_on get_clip_path "
        "get_converter get_data_interval get_figure get_gridlines get_in_layout get_inverted get_label "
        "get_label_position get_label_text get_major_formatter get_major_locator get_major_ticks "
        "get_majorticklabels get_majorticklines get_majorticklocs get_minor_formatter get_minor_locator "
        "get_minor_ticks get_minorticklabels get_minorticklines get_minorticklocs get_minpos "
        "get_offset_text get_path_effects get_rasterized "
        "get_remove_overlapping_locs get_scale get_sketch_params get_snap get_tick_padding get_tick_params "
        "get_tick_space get_ticklabels get_ticklines get_ticklocs get_ticks_direction get_ticks_position "
        "get_tightbbox get_transform get_transformed_clip_path_and_affine get_units get_view_interval "
        "get_visible get_window_extent get_zorder grid have_units isDefault_label isDefault_majfmt "
        "isDefault_majloc isDefault_minfmt isDefault_minloc is_transform_set label label_position labelpad "
        "limit_range_for_scale major majorTicks minor minorTicks minorticks_off minorticks_on offsetText "
        "offset_text_position remove remove_overlapping_locs reset_ticks set set_alpha "
        "set_animated set_clip_box set_clip_on set_clip_path set_converter set_data_interval "
        "set_default_intervals set_in_layout set_inverted set_label set_label_coords set_label_position "
        "set_label_text set_major_formatter set_major_locator set_minor_formatter set_minor_locator "
        "set_offset_position set_path_effects set_rasterized "
        "set_remove_overlapping_locs set_tick_params set_ticklabels set_ticks set_ticks_position "
        "set_transform set_units set_view_interval set_visible set_zorder stale tick_left tick_right units "
        "update_units zorder"
    ),
    "matplotlib.spines:Spines": "clear from_dict get items keys pop popitem setdefault values",
    "matplotlib.spines:Spine": (
        "arc_spine axes axis circular_spine clear clipbox contains_point contains_points convert_xunits "
        "convert_yunits draw figure fill get_aa get_alpha get_animated get_antialiased get_bounds "
        "get_capstyle get_children get_clip_box get_clip_on get_clip_path get_data_transform get_ec "
        "get_edgecolor get_edgegapcolor get_extents get_facecolor get_fc get_figure get_fill get_hatch "
        "get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label get_linestyle get_linewidth "
        "get_ls get_lw get_patch_transform get_path get_path_effects get_position "
        "get_rasterized get_sketch_params get_snap get_spine_transform get_tightbbox get_transform "
        "get_transformed_clip_path_and_affine get_verts get_visible get_window_extent get_zorder have_units "
        "is_transform_set linear_spine register_axis remove set set_aa set_alpha set_animated "
        "set_antialiased set_bounds set_capstyle set_clip_box set_clip_on set_clip_path set_color set_ec "
        "set_edgecolor set_edgegapcolor set_facecolor set_fc set_fill set_hatch set_hatch_linewidth "
        "set_hatchcolor set_in_layout set_joinstyle set_label set_linestyle set_linewidth set_ls set_lw "
        "set_patch_arc set_patch_circle set_patch_line set_path_effects set_position "
        "set_rasterized set_transform set_visible set_zorder spine_type stale zorder"
    ),
    "matplotlib.lines:Line2D": (
        "axes clipbox convert_xunits convert_yunits draw drawStyleKeys figure fillStyles filled_markers "
        "get_aa get_alpha get_animated get_antialiased get_bbox get_c get_children get_clip_box get_clip_on "
        "get_clip_path get_color get_dash_capstyle get_dash_joinstyle get_data get_drawstyle get_ds "
        "get_figure get_fillstyle get_gapcolor get_in_layout get_label get_linestyle get_linewidth get_ls "
        "get_lw get_marker get_markeredgecolor get_markeredgewidth get_markerfacecolor get_markerfacecoloralt "
        "get_markersize get_markevery get_mec get_mew get_mfc get_mfcalt get_ms get_path "
        "get_path_effects get_rasterized get_sketch_params get_snap "
        "get_solid_capstyle get_solid_joinstyle get_tightbbox get_transform "
        "get_transformed_clip_path_and_affine get_visible get_window_extent get_xdata get_xydata get_ydata "
        "get_zorder have_units ind_offset is_dashed is_transform_set recache "
        "recache_always remove set set_aa set_alpha set_animated set_antialiased set_c set_clip_box "
        "set_clip_on set_clip_path set_color set_dash_capstyle set_dash_joinstyle set_dashes set_data "
        "set_drawstyle set_ds set_fillstyle set_gapcolor set_in_layout set_label set_linestyle set_linewidth "
        "set_ls set_lw set_marker set_markeredgecolor set_markeredgewidth set_markerfacecolor "
        "set_markerfacecoloralt set_markersize set_markevery set_mec set_mew set_mfc set_mfcalt "
        "set_ms set_path_effects set_rasterized set_solid_capstyle set_solid_joinstyle "
        "set_transform set_visible set_xdata set_ydata set_zorder stale zorder"
    ),
    "matplotlib.patches:Rectangle": (
        "angle axes clipbox contains_point contains_points convert_xunits convert_yunits draw figure fill "
        "get_aa get_alpha get_angle get_animated get_antialiased get_bbox get_capstyle get_center "
        "get_children get_clip_box get_clip_on get_clip_path get_corners get_data_transform get_ec "
        "get_edgecolor get_edgegapcolor get_extents get_facecolor get_fc get_figure get_fill get_hatch "
        "get_hatch_linewidth get_hatchcolor get_height get_in_layout get_joinstyle get_label get_linestyle "
        "get_linewidth get_ls get_lw get_patch_transform get_path get_path_effects "
        "get_rasterized get_sketch_params get_snap get_tightbbox get_transform "
        "get_transformed_clip_path_and_affine get_verts get_visible get_width get_window_extent get_x get_xy "
        "get_y get_zorder have_units is_transform_set remove rotation_point set set_aa set_alpha "
        "set_angle set_animated set_antialiased set_bounds set_capstyle set_clip_box set_clip_on "
        "set_clip_path set_color set_ec set_edgecolor set_edgegapcolor set_facecolor set_fc set_fill "
        "set_hatch set_hatch_linewidth set_hatchcolor set_height set_in_layout set_joinstyle set_label "
        "set_linestyle set_linewidth set_ls set_lw set_path_effects set_rasterized "
        "set_transform set_visible set_width set_x set_xy set_y set_zorder stale xy zorder"
    ),
    "matplotlib.collections:PathCollection": (
        "autoscale autoscale_None axes changed clipbox cmap colorbar convert_xunits convert_yunits draw "
        "figure get_aa get_alpha get_animated get_antialiased get_antialiaseds get_array get_capstyle "
        "get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap get_dashes get_datalim get_ec "
        "get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc get_figure get_fill get_hatch "
        "get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label get_linestyle "
        "get_linestyles get_linewidth get_linewidths get_ls get_lw get_offset_transform "
        "get_offsets get_path_effects get_paths get_rasterized get_sizes "
        "get_sketch_params get_snap get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_visible get_window_extent "
        "get_zorder have_units is_transform_set legend_elements norm remove set set_aa set_alpha "
        "set_animated set_antialiased set_antialiaseds set_array set_capstyle set_clim set_clip_box "
        "set_clip_on set_clip_path set_cmap set_color set_dashes set_ec set_edgecolor set_edgecolors "
        "set_facecolor set_facecolors set_fc set_hatch set_hatch_linewidth set_hatchcolor set_in_layout "
        "set_joinstyle set_label set_linestyle set_linestyles set_linewidth set_linewidths set_ls set_lw "
        "set_norm set_offset_transform set_offsets set_path_effects set_paths "
        "set_rasterized set_sizes set_transOffset set_transform set_visible set_zorder stale to_rgba "
        "update_scalarmappable zorder"
    ),
    "matplotlib.legend:Legend": (
        "axes borderaxespad borderpad clipbox columnspacing convert_xunits convert_yunits draw draw_frame "
        "figure get_alignment get_alpha get_animated get_bbox_to_anchor get_children get_clip_box get_clip_on "
        "get_clip_path get_default_handler_map get_draggable get_figure get_frame get_frame_on get_in_layout "
        "get_label get_legend_handler get_legend_handler_map get_lines get_patches "
        "get_path_effects get_rasterized get_sketch_params get_snap get_texts get_tightbbox "
        "get_title get_transform get_transformed_clip_path_and_affine get_visible get_window_extent "
        "get_zorder handleheight handlelength handletextpad have_units is_transform_set isaxes labelspacing "
        "legendPatch legend_handles markerscale numpoints parent prop remove scatterpoints set "
        "set_alignment set_alpha set_animated set_bbox_to_anchor set_clip_box set_clip_on set_clip_path "
        "set_default_handler_map set_draggable set_frame_on set_in_layout set_label set_loc "
        "set_ncols set_path_effects set_rasterized set_title set_transform set_visible set_zorder shadow "
        "stale texts update_default_handler_map zorder"
    ),
    "matplotlib.text:Text": (
        "axes clipbox convert_xunits convert_yunits draw figure get_alpha get_animated get_antialiased "
        "get_bbox_patch get_c get_children get_clip_box get_clip_on get_clip_path get_color get_family "
        "get_figure get_font get_font_properties get_fontfamily get_fontfeatures get_fontname "
        "get_fontproperties get_fontsize get_fontstyle get_fontvariant get_fontweight get_ha "
        "get_horizontalalignment get_in_layout get_label get_language get_linespacing get_math_fontfamily "
        "get_name get_parse_math get_path_effects get_position get_rasterized "
        "get_rotation get_rotation_mode get_size get_sketch_params get_snap get_stretch get_style get_text "
        "get_tightbbox get_transform get_transform_rotates_text get_transformed_clip_path_and_affine "
        "get_unitless_position get_usetex get_va get_variant get_verticalalignment get_visible get_weight "
        "get_window_extent get_wrap get_zorder have_units is_transform_set remove set set_alpha "
        "set_animated set_antialiased set_backgroundcolor set_bbox set_c set_clip_box set_clip_on "
        "set_clip_path set_color set_family set_font set_font_properties set_fontfamily set_fontfeatures "
        "set_fontname set_fontproperties set_fontsize set_fontstretch set_fontstyle set_fontvariant "
        "set_fontweight set_ha set_horizontalalignment set_in_layout set_label set_language set_linespacing "
        "set_ma set_math_fontfamily set_multialignment set_name set_parse_math set_path_effects "
        "set_position set_rasterized set_rotation set_rotation_mode set_size set_stretch set_style set_text "
        "set_transform set_transform_rotates_text set_usetex set_va set_variant set_verticalalignment "
        "set_visible set_weight set_wrap set_x set_y set_zorder stale update_bbox_position_size zorder"
    ),
    "matplotlib.text:Annotation": (
        "anncoords arrow_patch arrowprops axes clipbox convert_xunits convert_yunits draggable draw figure "
        "get_alpha get_animated get_anncoords get_annotation_clip get_antialiased get_bbox_patch get_c "
        "get_children get_clip_box get_clip_on get_clip_path get_color get_family get_figure get_font "
        "get_font_properties get_fontfamily get_fontfeatures get_fontname get_fontproperties get_fontsize "
        "get_fontstyle get_fontvariant get_fontweight get_ha get_horizontalalignment get_in_layout get_label "
        "get_language get_linespacing get_math_fontfamily get_name get_parse_math "
        "get_path_effects get_position get_rasterized get_rotation get_rotation_mode get_size "
        "get_sketch_params get_snap get_stretch get_style get_text get_tightbbox get_transform "
        "get_transform_rotates_text get_transformed_clip_path_and_affine get_unitless_position get_usetex "
        "get_va get_variant get_verticalalignment get_visible get_weight get_window_extent get_wrap "
        "get_zorder have_units is_transform_set remove set set_alpha set_animated set_anncoords "
        "set_annotation_clip set_antialiased set_backgroundcolor set_bbox set_c set_clip_box set_clip_on "
        "set_clip_path set_color set_family set_font set_font_properties set_fontfamily set_fontfeatures "
        "set_fontname set_fontproperties set_fontsize set_fontstretch set_fontstyle set_fontvariant "
        "set_fontweight set_ha set_horizontalalignment set_in_layout set_label set_language set_linespacing "
        "set_ma set_math_fontfamily set_multialignment set_name set_parse_math set_path_effects "
        "set_position set_rasterized set_rotation set_rotation_mode set_size set_stretch set_style set_text "
        "set_transform set_transform_rotates_text set_usetex set_va set_variant set_verticalalignment "
        "set_visible set_weight set_wrap set_x set_y set_zorder stale update_bbox_position_size "
        "update_positions xy xyann xycoords zorder"
    ),
    "matplotlib.image:AxesImage": (
        "autoscale autoscale_None axes can_composite changed clipbox cmap colorbar colorbar_cid "
        "convert_xunits convert_yunits draw figure get_alpha get_animated get_array get_children get_clim "
        "get_clip_box get_clip_on get_clip_path get_cmap get_extent get_figure get_filternorm get_filterrad "
        "get_in_layout get_interpolation get_interpolation_stage get_label get_path_effects "
        "get_rasterized get_resample get_shape get_size get_sketch_params get_snap get_tightbbox "
        "get_transform get_transformed_clip_path_and_affine get_visible get_window_extent get_zorder "
        "have_units is_transform_set norm origin remove set set_alpha set_animated "
        "set_array set_clim set_clip_box set_clip_on set_clip_path set_cmap set_data set_extent "
        "set_filternorm set_filterrad set_in_layout set_interpolation set_interpolation_stage set_label "
        "set_norm set_path_effects set_rasterized set_resample set_transform set_visible "
        "set_zorder stale to_rgba zorder"
    ),
    "matplotlib.axis:XTick": (
        "axes clipbox convert_xunits convert_yunits draw figure get_alpha get_animated get_children "
        "get_clip_box get_clip_on get_clip_path get_figure get_in_layout get_label get_loc "
        "get_pad get_path_effects get_rasterized get_sketch_params get_snap get_tick_padding "
        "get_tickdir get_tightbbox get_transform get_transformed_clip_path_and_affine get_view_interval "
        "get_visible get_window_extent get_zorder gridline have_units is_transform_set label1 label2 "
        "remove set set_alpha set_animated set_clip_box set_clip_on set_clip_path set_in_layout set_label "
        "set_pad set_path_effects set_rasterized set_transform set_visible set_zorder stale "
        "tick1line tick2line update_position zorder"
    ),
    "matplotlib.transforms:BboxTransformTo": (
        "contains_branch contains_branch_separately depth frozen get_affine "
        "get_matrix has_inverse input_dims invalidate inverted is_affine is_separable output_dims "
        "pass_through set_children to_values transform transform_affine transform_angles transform_bbox "
        "transform_non_affine transform_path transform_path_affine transform_path_non_affine transform_point"
    ),
    "matplotlib.gridspec:GridSpec": (
        "bottom figure get_geometry get_grid_positions get_height_ratios get_subplot_params get_width_ratios "
        "hspace left locally_modified_subplot_params ncols new_subplotspec nrows right set_height_ratios "
        "set_width_ratios subplots tight_layout top wspace"
    ),
    "matplotlib.colorbar:Colorbar": (
        "add_lines alpha ax boundaries cmap dividers drawedges extend extendfrac extendrect "
        "formatter get_ticks lines locator long_axis mappable minorformatter minorlocator minorticks_off "
        "minorticks_on n_rasterize norm orientation outline remove set_alpha set_label set_ticklabels "
        "set_ticks solids solids_patches spacing stale ticklocation update_normal update_ticks values vmax "
        "vmin"
    ),
    "matplotlib.container:ErrorbarContainer": (
        "count get_children get_label has_xerr has_yerr index lines remove set_label stale"
    ),
    "matplotlib.contour:QuadContourSet": (
        "add_label add_label_near allkinds allsegs alpha autoscale autoscale_None axes changed clabel clipbox "
        "cmap colorbar colors convert_xunits convert_yunits cvalues draw extend extent figure filled "
        "find_nearest_contour get_aa get_alpha get_animated get_antialiased get_antialiaseds get_array "
        "get_capstyle get_children get_clim get_clip_box get_clip_on get_clip_path get_cmap get_dashes "
        "get_datalim get_ec get_edgecolor get_edgecolors get_facecolor get_facecolors get_fc get_figure "
        "get_fill get_hatch get_hatch_linewidth get_hatchcolor get_in_layout get_joinstyle get_label "
        "get_linestyle get_linestyles get_linewidth get_linewidths get_ls get_lw "
        "get_offset_transform get_offsets get_path_effects get_paths get_rasterized "
        "get_sketch_params get_snap get_text get_tightbbox get_transOffset get_transform "
        "get_transformed_clip_path_and_affine get_transforms get_visible get_window_extent "
        "get_zorder hatches have_units is_transform_set labelCValues labelTexts labels layers legend_elements "
        "levels linestyles locate_label locator logscale monochrome nchunk negative_linestyles norm origin "
        "pop_label print_label remove set set_aa set_alpha set_animated set_antialiased "
        "set_antialiaseds set_array set_capstyle set_clim set_clip_box set_clip_on set_clip_path set_cmap "
        "set_color set_dashes set_ec set_edgecolor set_edgecolors set_facecolor set_facecolors set_fc "
        "set_hatch set_hatch_linewidth set_hatchcolor set_in_layout set_joinstyle set_label set_linestyle "
        "set_linestyles set_linewidth set_linewidths set_ls set_lw set_norm "
        "set_offset_transform set_offsets set_path_effects set_paths set_rasterized "
        "set_transOffset set_transform set_visible set_zorder stale to_rgba too_close "
        "update_scalarmappable zmax zmin zorder"
    ),
    "matplotlib.container:PieContainer": "add_texts fracs remove texts values wedges",
    "matplotlib.colors:ListedColormap": (
        "N colorbar_extend colors copy get_bad get_over get_under is_gray monochrome n_variates name "
        "resampled reversed set_bad set_extremes set_over set_under with_alpha with_extremes"
    ),
    "matplotlib.colors:Normalize": (
        "autoscale autoscale_None clip inverse n_components process_value scaled vmax vmin"
    ),
}
NUMPY = (
    "False_ True_ abs absolute acos acosh add all allclose amax amin angle any append apply_along_axis "
    "apply_over_axes arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort "
    "argwhere around array array2string array_equal array_equiv array_repr array_split array_str asanyarray asarray "
    "asarray_chkfinite ascontiguousarray asfortranarray asin asinh astype atan atan2 atanh atleast_1d atleast_2d "
    "atleast_3d average bartlett base_repr binary_repr bincount bitwise_and bitwise_count bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman block bool bool_ "
    "broadcast_arrays broadcast_shapes broadcast_to busday_count busday_offset byte bytes_ can_cast cbrt cdouble ceil "
    "character choose clip clongdouble column_stack common_type complex128 complex256 complex64 complexfloating "
    "compress concat concatenate conj conjugate convolve copy copysign copyto corrcoef correlate cos cosh "
    "count_nonzero cov cross csingle cumprod cumsum cumulative_prod cumulative_sum datetime64 datetime_as_string "
    "deg2rad degrees delete diag diag_indices diag_indices_from diagflat diagonal diff digitize divide divmod dot "
    "double dsplit dstack dtype e ediff1d einsum einsum_path empty empty_like equal euler_gamma exp exp2 expand_dims "
    "expm1 extract eye fabs fill_diagonal finfo fix flatnonzero flexible flip fliplr flipud float128 float16 float32 "
    "float64 float_power floating floor floor_divide fmax fmin fmod format_float_positional format_float_scientific "
    "frexp fromfunction fromiter full full_like gcd generic geomspace gradient greater greater_equal half hamming "
    "hanning heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0 identity iinfo "
    "imag indices inexact inf inner insert int16 int32 int64 int8 int_ intc integer interp intersect1d intp invert "
    "is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin isinf isnan isnat isneginf isposinf "
    "isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort "
    "linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace long "
    "longdouble longlong mask_indices matmul matrix_transpose matvec max maximum may_share_memory mean median "
    "meshgrid min min_scalar_type minimum mod modf moveaxis multiply nan nan_to_num nanargmax nanargmin nancumprod "
    "nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndenumerate "
    "ndim ndindex negative newaxis nextafter nonzero not_equal number ones ones_like outer packbits pad partition "
    "percentile permute_dims pi piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub "
    "polyval positive pow power prod promote_types ptp put put_along_axis putmask quantile rad2deg radians ravel "
    "ravel_multi_index real real_if_close reciprocal remainder repeat reshape resize result_type right_shift rint "
    "roll rollaxis roots rot90 round row_stack searchsorted select setdiff1d shares_memory setxor1d shape short sign "
    "signbit signedinteger sin sinc single sinh size sort sort_complex spacing split sqrt square squeeze stack std "
    "str_ subtract sum swapaxes take take_along_axis tan tanh tensordot tile timedelta64 trace transpose trapezoid "
    "tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from true_divide trunc ubyte "
    "uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong union1d unique unique_all unique_counts "
    "unique_inverse unique_values unpackbits unravel_index unsignedinteger unstack unwrap ushort vander var vdot "
    "vecdot vecmat vectorize void vsplit vstack where zeros zeros_like"
)
LINALG = (
    "LinAlgError cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm "
    "matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals "
    "tensordot tensorinv tensorsolve trace vecdot vector_norm"
)
FFT = (
    "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn"
)
RANDOM = (
    "Generator MT19937 PCG64 Philox RandomState SFC64 SeedSequence beta binomial bytes chisquare choice default_rng "
    "dirichlet exponential f gamma geometric get_state gumbel hypergeometric laplace logistic lognormal logseries "
    "multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto permutation "
    "poisson power rand randint randn random random_integers random_sample ranf rayleigh sample seed shuffle "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald "
    "weibull zipf"
)
OFFSETS = (
    "BDay BHalfYearBegin BHalfYearEnd BMonthBegin BMonthEnd BQuarterBegin BQuarterEnd BYearBegin BYearEnd "
    "BaseOffset BusinessDay BusinessHour BusinessMonthBegin BusinessMonthEnd CBMonthBegin CBMonthEnd CDay "
    "CustomBusinessDay CustomBusinessHour CustomBusinessMonthBegin CustomBusinessMonthEnd DateOffset Day "
    "Easter FY5253 FY5253Quarter HalfYearBegin HalfYearEnd Hour LastWeekOfMonth Micro Milli Minute "
    "MonthBegin MonthEnd Nano QuarterBegin QuarterEnd Second SemiMonthBegin SemiMonthEnd Tick Week "
    "WeekOfMonth YearBegin YearEnd"
)
PANDAS = (
    "ArrowDtype BooleanDtype Categorical CategoricalDtype CategoricalIndex DataFrame DateOffset "
    "DatetimeIndex DatetimeTZDtype Float32Dtype Float64Dtype Grouper Index IndexSlice Int16Dtype "
    "Int32Dtype Int64Dtype Int8Dtype Interval IntervalDtype IntervalIndex MultiIndex NA NaT NamedAgg "
    "NamedFunc Period PeriodDtype PeriodIndex RangeIndex Series SparseDtype StringDtype Timedelta "
    "TimedeltaIndex Timestamp UInt16Dtype UInt32Dtype UInt64Dtype UInt8Dtype array "
    "bdate_range concat crosstab cut date_range factorize from_dummies get_dummies infer_freq "
    "interval_range isna isnull json_normalize lreshape melt merge merge_asof merge_ordered notna notnull "
    "period_range pivot pivot_table qcut read_csv read_fwf read_json read_table timedelta_range "
    "to_datetime to_numeric to_timedelta unique wide_to_long"
)
PYPLOT = (
    "Annotation Arrow AutoLocator Axes Circle Colormap Figure FixedFormatter FixedLocator FormatStrFormatter "
    "Formatter FuncFormatter GridSpec IndexLocator Line2D LinearLocator Locator LogFormatter LogFormatterExponent "
    "LogFormatterMathtext LogLocator MaxNLocator MultipleLocator Normalize NullFormatter NullLocator PolarAxes "
    "Polygon Rectangle ScalarFormatter Subplot SubplotSpec Text acorr angle_spectrum annotate arrow autoscale autumn "
    "axes axhline axhspan axis axline axvline axvspan bar bar_label barbs barh bone box boxplot broken_barh cla "
    "clabel clf clim close cohere colorbar contour contourf cool copper csd cycler delaxes draw ecdf errorbar "
    "eventplot figaspect figimage figlegend fignum_exists figtext figure fill fill_between fill_betweenx flag gca gcf "
    "gci get_cmap get_figlabels get_fignums get_scale_names gray grid grouped_bar hexbin hist hist2d hlines hot hsv "
    "imshow inferno jet legend locator_params loglog magma magnitude_spectrum margins matshow minorticks_off "
    "minorticks_on nipy_spectral pcolor pcolormesh phase_spectrum pie pie_label pink plasma plot polar prism psd "
    "quiver quiverkey rgrids sca scatter sci semilogx semilogy set_cmap specgram spring spy stackplot stairs stem "
    "step streamplot subplot subplot2grid subplot_mosaic subplots subplots_adjust summer suptitle table text "
    "thetagrids tick_params ticklabel_format tight_layout title tricontour tricontourf tripcolor triplot twinx twiny "
    "violinplot viridis vlines winter xcorr xlabel xlim xscale xticks ylabel ylim yscale yticks"
)
#: What cells have of matplotlib's modules.
MATPLOTLIB: dict[str, str] = {
    "ticker": (
        "AutoLocator AutoMinorLocator EngFormatter FixedFormatter FixedLocator FormatStrFormatter FuncFormatter "
        "IndexLocator LinearLocator LogFormatter LogLocator MaxNLocator MultipleLocator NullFormatter NullLocator "
        "PercentFormatter ScalarFormatter StrMethodFormatter"
    ),
    "dates": (
        "AutoDateFormatter AutoDateLocator ConciseDateFormatter DateFormatter DayLocator FR HourLocator MO "
        "MinuteLocator MonthLocator SA SU SecondLocator TH TU WE WeekdayLocator YearLocator date2num drange num2date"
    ),
    "patches": (
        "Arc Arrow Circle ConnectionPatch Ellipse FancyArrow FancyArrowPatch FancyBboxPatch Patch PathPatch Polygon "
        "Rectangle RegularPolygon Wedge"
    ),
    "collections": "LineCollection PatchCollection PolyCollection",
    "lines": "Line2D",
    "gridspec": "GridSpec GridSpecFromSubplotSpec",
    "patheffects": "Normal SimplePatchShadow Stroke withSimplePatchShadow withStroke",
    "offsetbox": "AnchoredText",
    "colors": (
        "BASE_COLORS BoundaryNorm CSS4_COLORS CenteredNorm LinearSegmentedColormap ListedColormap LogNorm Normalize "
        "PowerNorm SymLogNorm TABLEAU_COLORS TwoSlopeNorm hsv_to_rgb rgb_to_hsv to_hex to_rgb to_rgba to_rgba_array"
    ),
}
CHAR = (
    "add capitalize center count decode encode endswith equal expandtabs find greater greater_equal index isalnum "
    "isalpha isdecimal isdigit islower isnumeric isspace istitle isupper join less less_equal ljust lower lstrip "
    "multiply not_equal partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith "
    "str_len strip swapcase title translate upper zfill"
)
MASKED = (
    "MaskedArray all allclose allequal alltrue anom anomalies any append arange argmax argmin argsort around array "
    "asarray average clip clump_masked clump_unmasked column_stack compressed concatenate corrcoef count count_masked "
    "cov cumprod cumsum diff dot empty fix_invalid getmask getmaskarray hstack is_mask is_masked isin make_mask "
    "mask_or masked_all masked_array masked_equal masked_greater masked_greater_equal masked_inside masked_invalid "
    "masked_less masked_less_equal masked_not_equal masked_outside masked_values masked_where max maximum mean median "
    "min minimum notmasked_contiguous ones polyfit prod ptp reshape round sort sqrt std sum unique var vstack where "
    "zeros"
)
#: Others run text as code.
TESTING = (
    "assert_ assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal assert_array_equal "
    "assert_array_less assert_equal assert_raises assert_string_equal"
)
POLYNOMIALS = (
    "polyadd polysub polymul polydiv polypow polyval polyval2d polyder polyint polyfit polyroots polyfromroots"
)
TYPES = (
    "CategoricalDtype DatetimeTZDtype IntervalDtype PeriodDtype infer_dtype is_any_real_numeric_dtype is_array_like "
    "is_bool is_bool_dtype is_categorical_dtype is_complex is_complex_dtype is_datetime64_any_dtype "
    "is_datetime64_dtype is_datetime64_ns_dtype is_datetime64tz_dtype is_dict_like is_dtype_equal "
    "is_extension_array_dtype is_file_like is_float is_float_dtype is_hashable is_int64_dtype is_integer "
    "is_integer_dtype is_interval_dtype is_iterator is_list_like is_named_tuple is_number is_numeric_dtype "
    "is_object_dtype is_period_dtype is_re is_re_compilable is_scalar is_signed_integer_dtype is_sparse "
    "is_string_dtype is_timedelta64_dtype is_timedelta64_ns_dtype is_unsigned_integer_dtype pandas_dtype "
    "union_categoricals"
)
_RESAMPLER = "pandas.core.resample:DatetimeIndexResampler"
_ON_DATES = "pandas.core.indexes.accessors:DatetimeProperties"
_PATCH = "matplotlib.patches:Rectangle"
_COLLECTION = "matplotlib.collections:PathCollection"
_AXES = "matplotlib.axes._axes:Axes"
#: Classes that have the names of another one of NAMES: that one, their module, the classes, and what they have beside.
#: A class without one of the names raises AttributeError for it.
ALIKE: tuple[tuple[str, str, str, str], ...] = (
    ("numpy:ndarray", "numpy.rec", "recarray", ""),
    ("", "numpy", "record", "dtype item tolist"),
    ("numpy.polynomial.polynomial:Polynomial", "numpy.polynomial", "Chebyshev Legendre Hermite", ""),
    ("", "numpy.random", "PCG64 PCG64DXSM MT19937 Philox SFC64", "jumped random_raw seed_seq spawn state"),
    ("", "numpy.random", "SeedSequence", "entropy generate_state n_children_spawned pool_size spawn spawn_key state"),
    (_RESAMPLER, "pandas.core.resample", "DatetimeIndexResamplerGroupBy PeriodIndexResampler", ""),
    (_RESAMPLER, "pandas.core.resample", "PeriodIndexResamplerGroupBy TimedeltaIndexResampler", ""),
    (_RESAMPLER, "pandas.core.resample", "TimedeltaIndexResamplerGroupBy", ""),
    ("pandas.api.typing:Rolling", "pandas.core.window", "Window ExpandingGroupBy", ""),
    ("pandas.api.typing:ExponentialMovingWindow", "pandas.core.window", "ExponentialMovingWindowGroupBy", ""),
    (_ON_DATES, "pandas.core.indexes.accessors", "PeriodProperties", "end_time qyear start_time to_timestamp asfreq"),
    ("pandas:IntervalIndex", "pandas.arrays", "IntervalArray", ""),
    ("pandas.arrays:DatetimeArray", "pandas.arrays", "TimedeltaArray PeriodArray", "days seconds total_seconds"),
    ("pandas.arrays:ArrowStringArray", "pandas.arrays", "StringArray", ""),
    ("pandas:Int64Dtype", "pandas", "Int8Dtype Int16Dtype Int32Dtype", ""),
    ("pandas:Int64Dtype", "pandas", "UInt8Dtype UInt16Dtype UInt32Dtype UInt64Dtype", ""),
    ("pandas:Int64Dtype", "pandas", "Float32Dtype Float64Dtype BooleanDtype", ""),
    ("pandas:DatetimeTZDtype", "pandas", "PeriodDtype IntervalDtype", "closed freq subtype"),
    (_PATCH, "matplotlib.patches", "Patch PathPatch StepPatch Shadow Arrow FancyArrow CirclePolygon", ""),
    (_PATCH, "matplotlib.patches", "Polygon RegularPolygon Circle Ellipse Arc Annulus Wedge", (
        "center get_closed set_closed get_radius set_radius radius r theta1 theta2 width height set_center set_theta1 "
        "set_theta2 get_path numvertices"
    )),
    (_PATCH, "matplotlib.patches", "FancyBboxPatch FancyArrowPatch ConnectionPatch", (
        "get_boxstyle set_boxstyle get_arrowstyle set_arrowstyle get_connectionstyle set_connectionstyle "
        "get_mutation_scale set_mutation_scale set_positions"
    )),
    (_COLLECTION, "matplotlib.collections", (
        "PolyCollection LineCollection EventCollection PatchCollection TriMesh PolyQuadMesh RegularPolyCollection "
        "CircleCollection EllipseCollection"
    ), "get_segments set_segments set_verts get_positions set_positions get_lineoffset set_lineoffset get_linelength"),
    (_COLLECTION, "mpl_toolkits.mplot3d.art3d", "Path3DCollection Patch3DCollection Line3DCollection", (
        "set_3d_properties set_sort_zpos get_depthshade set_depthshade set_segments"
    )),
    (_COLLECTION, "matplotlib.quiver", "Barbs", ""),
    ("matplotlib.lines:Line2D", "matplotlib.lines", "AxLine", ""),
    ("matplotlib.lines:Line2D", "mpl_toolkits.mplot3d.art3d", "Line3D", "get_data_3d set_data_3d set_3d_properties"),
    ("matplotlib.text:Text", "mpl_toolkits.mplot3d.art3d", "Text3D", "get_position_3d set_position_3d set_z"),
    ("matplotlib.axis:XTick", "matplotlib.axis", "YTick", ""),
    ("matplotlib.axis:XAxis", "mpl_toolkits.mplot3d.axis3d", "Axis", "set_pane_color set_rotate_label"),
    ("matplotlib.axis:XAxis", "mpl_toolkits.mplot3d.axis3d", "XAxis YAxis ZAxis", "set_pane_color set_rotate_label"),
    ("matplotlib.axis:XAxis", "matplotlib.projections.polar", "ThetaAxis RadialAxis", ""),
    (_AXES, "matplotlib.axes._secondary_axes", "SecondaryAxis", "set_alignment set_functions set_location"),
    (_AXES, "mpl_toolkits.axes_grid1.mpl_axes", "Axes", ""),
    ("", "mpl_toolkits.axes_grid1.axes_divider", "AxesDivider", "append_axes"),
    ("matplotlib.figure:Figure", "matplotlib.figure", "SubFigure", ""),
    ("matplotlib.gridspec:GridSpec", "matplotlib.gridspec", "GridSpecFromSubplotSpec", ""),
    ("", "matplotlib.gridspec", "SubplotSpec", (
        "colspan get_geometry get_gridspec get_position is_first_col is_first_row is_last_col is_last_row num1 num2 "
        "rowspan subgridspec"
    )),
    ("", "matplotlib.spines", "SpinesProxy", (
        "set set_alpha set_bounds set_color set_edgecolor set_linestyle set_linewidth set_position set_visible "
        "set_zorder"
    )),
    ("matplotlib.contour:QuadContourSet", "matplotlib.tri", "TriContourSet", ""),
    ("", "matplotlib.cbook", "GrouperView", "get_siblings joined"),
    ("matplotlib.container:BarContainer", "matplotlib.container", "StemContainer", "baseline markerline stemlines"),
    ("matplotlib.transforms:Bbox", "matplotlib.transforms", "TransformedBbox", ""),
    ("matplotlib.transforms:BboxTransformTo", "matplotlib.transforms", (
        "Affine2D CompositeGenericTransform CompositeAffine2D BlendedGenericTransform BlendedAffine2D "
        "IdentityTransform ScaledTranslation TransformWrapper"
    ), "clear rotate rotate_around rotate_deg rotate_deg_around scale skew skew_deg translate"),
    ("matplotlib.image:AxesImage", "matplotlib.image", "FigureImage NonUniformImage PcolorImage", ""),
    ("matplotlib.colors:ListedColormap", "matplotlib.colors", "LinearSegmentedColormap Colormap", "set_gamma"),
    ("matplotlib.colors:Normalize", "matplotlib.colors", (
        "LogNorm SymLogNorm PowerNorm TwoSlopeNorm CenteredNorm BoundaryNorm NoNorm AsinhNorm"
    ), "base boundaries gamma halfrange linthresh vcenter"),
    ("", "matplotlib.cm", "ColormapRegistry", "get get_cmap items keys values"),
    ("", "matplotlib.cm", "ScalarMappable", (
        "autoscale autoscale_None cmap get_alpha get_array get_clim get_cmap norm set_array set_clim set_cmap set_norm "
        "to_rgba"
    )),
    ("", "matplotlib.ticker", (
        "NullFormatter FixedFormatter FuncFormatter FormatStrFormatter StrMethodFormatter ScalarFormatter LogFormatter "
        "LogFormatterExponent LogFormatterMathtext LogFormatterSciNotation LogitFormatter EngFormatter PercentFormatter"
    ), (
        "format_data format_data_short format_ticks get_offset set_offset_string set_powerlimits set_scientific "
        "set_useLocale set_useMathText set_useOffset"
    )),
    ("", "matplotlib.ticker", (
        "IndexLocator FixedLocator NullLocator LinearLocator MultipleLocator MaxNLocator LogLocator AutoLocator "
        "SymmetricalLogLocator LogitLocator AutoMinorLocator"
    ), "set_params tick_values"),
    ("", "matplotlib.dates", "DateFormatter ConciseDateFormatter AutoDateFormatter", (
        "format_data_short format_ticks formats get_offset offset_formats show_offset zero_formats"
    )),
    ("", "matplotlib.dates", (
        "AutoDateLocator YearLocator MonthLocator WeekdayLocator DayLocator HourLocator MinuteLocator SecondLocator"
    ), "tick_values"),
    ("matplotlib.text:Text", "matplotlib.offsetbox", "AnchoredText", "patch txt"),
    ("", "cycler", "Cycler", "by_key concat keys"),
)  # fmt: skip
